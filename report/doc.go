// Package report draws recorded runs.
//
//   - [Grid] draws a run as text, and [Page] as one HTML file that works offline.
//   - [ShiViz] writes a run for another viewer.
//   - [Shape] tells runs apart by what was observable of them.
//
// Nothing here runs anything or knows more than traces: a picture is made from a trace
// alone. Whatever a trace says is shown as text and stays in its place, so that a hostile
// trace can be opened safely. Campaigns are told about by package report/campaign.
package report
