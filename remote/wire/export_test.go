package wire

// For tests: encoding and decoding by the codec for protocol buffers.
func MarshalProto(m any) ([]byte, error)   { return protoCodec{}.Marshal(m) }
func UnmarshalProto(b []byte, m any) error { return protoCodec{}.Unmarshal(b, m) }
