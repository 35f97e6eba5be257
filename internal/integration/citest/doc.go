// Package citest checks the documentation's recipes for continuous integration.
package citest
