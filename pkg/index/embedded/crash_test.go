package embedded

func runChild() bool { return false }
