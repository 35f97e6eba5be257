// Package report shows recorded runs and campaigns to people and to machines.
//
//   - [Grid] draws a run as text, and [Page] as one HTML file that works offline.
//   - [Campaign] sums up a campaign; [CampaignPage] is its HTML file.
//   - [JUnit], [JSON] and [Annotations] tell CI servers about a campaign, [ShiViz] writes a
//     run for another viewer.
//   - [Progress] shows a campaign under way on a terminal.
//
// Nothing here runs anything: a picture is made from a trace alone. Whatever a trace says
// is shown as text and stays in its place, so that a hostile trace can be opened safely.
package report
