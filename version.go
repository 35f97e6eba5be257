package lockstep

// Version is the version of Lockstep, as traces and the command line state it: that of the next release, or of the
// last one in its commit.
const Version = "0.1.0"
