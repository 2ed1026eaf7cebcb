-- ocr_languages are the languages of a datastore's scans, by Tesseract's names, joined by commas; '' for the service's setting.

-- +goose Up
ALTER TABLE datastores ADD COLUMN ocr_languages TEXT NOT NULL DEFAULT '';
