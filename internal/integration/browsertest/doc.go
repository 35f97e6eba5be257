// Package browsertest opens the pages of package report in Chromium and checks what a reader sees. It is a separate
// module because of its dependencies for driving a browser.
package browsertest
