// Package browsertest opens the pages of package report in Chromium and looks at what a
// reader sees. It is a module of its own because of what it needs to drive a browser.
package browsertest
