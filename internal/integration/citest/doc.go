// Package citest checks the recipes for continuous integration that the documentation has.
package citest
