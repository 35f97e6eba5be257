package lockstep

// Version is the version of Lockstep that traces and the command line name. Between releases it is that of the next
// release.
const Version = "0.1.0"
