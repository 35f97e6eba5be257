// Package java is the source of the Java client, for targets that compile it together with a program of their own.
package java

import "embed"

// Source is the client, and an example that uses it.
//
//go:embed src/main/java
var Source embed.FS
