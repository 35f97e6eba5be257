package check

func (c *checker) shape() {}
func (c *checker) conditions() {}
