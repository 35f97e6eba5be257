module github.com/lockstep-go/lockstep/internal/unknown/mqtttest

go 1.26.0

require (
	github.com/eclipse/paho.mqtt.golang v1.5.1
	github.com/lockstep-go/lockstep v0.1.0
	github.com/mochi-mqtt/server/v2 v2.7.9
)
