// Package mqtttest tests mochi-mqtt, an MQTT broker, with the clients of Eclipse Paho, over TCP in memory. It is a
// separate module, because these are heavy dependencies.
//
//	lockstep go test .
package mqtttest
