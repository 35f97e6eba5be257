// Package child starts programs that do not outlive the one that started them.
//
// Each child leads a process group of its own, so that what it starts goes with it. A guard, a
// small shell of its own session, is told the group of every child and every folder that is to
// go; it reads a pipe, and when that ends because this program is gone, killed or not, it ends
// the groups and removes the folders.
package child
