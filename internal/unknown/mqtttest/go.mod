module github.com/lockstep-go/lockstep/internal/unknown/mqtttest

go 1.26.0

require (
	github.com/eclipse/paho.mqtt.golang v1.5.1
	github.com/lockstep-go/lockstep v0.1.0
	github.com/mochi-mqtt/server/v2 v2.7.9
)

require (
	github.com/anishathalye/porcupine v1.3.1 // indirect
	github.com/gorilla/websocket v1.5.3 // indirect
	github.com/rs/xid v1.4.0 // indirect
	golang.org/x/net v0.61.0 // indirect
	golang.org/x/sync v0.17.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)
