package lockstep

// Version is the version of Lockstep, as traces and the command line state it.
const Version = "0.1.0-dev"
