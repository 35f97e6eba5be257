module github.com/lockstep-go/lockstep/report/browsertest

go 1.26.0

replace github.com/lockstep-go/lockstep => ../..

require (
	github.com/chromedp/cdproto v0.158.6
	github.com/chromedp/chromedp v0.21.0
	github.com/lockstep-go/lockstep v0.0.0-00010101000000-000000000000
)

require (
	github.com/anishathalye/porcupine v1.3.1 // indirect
	github.com/go-json-experiment/json v0.0.0-20260213210345-44df1a37e875 // indirect
	gonum.org/v1/gonum v0.17.0 // indirect
)
