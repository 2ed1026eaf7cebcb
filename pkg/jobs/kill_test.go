package jobs

const envChild = "SLUICE_TEST_JOBS_CHILD"

func child(string) int { return 0 }
