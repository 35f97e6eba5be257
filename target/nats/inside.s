// Functions without a body, see inside.go, need a file of this kind.
