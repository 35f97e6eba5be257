package lockstep

// Version is the version of Lockstep in traces and on the command line. It is that of the next release, or in a
// release commit that of the release.
const Version = "0.1.0"
