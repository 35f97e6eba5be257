// Package report draws recorded runs and campaigns for people: [Grid] draws a run in
// lock-step rounds, nodes as rows and rounds as columns, or any other run step by
// step; [Campaign] sums up a campaign.
//
// Nothing here runs anything: a picture is made from a trace alone.
package report
