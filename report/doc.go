// Package report draws recorded runs.
//
//   - [Grid] draws a run as text, and [Page] as one HTML file that works offline.
//   - [ShiViz] writes a run for the ShiViz viewer.
//   - [Shape] classifies runs by their observable events.
//
// The package draws pictures from traces alone: it runs nothing and needs no other input. It shows every text of a
// trace as text in its place, so that a hostile trace can be opened safely. Package report/campaign reports campaigns.
package report
