package zip_test
