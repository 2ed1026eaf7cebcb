-- content is the digest of an uploaded form, whose request_hash contains only its length; '' for other requests, and for uploads
-- that older versions stored.

-- +goose Up
ALTER TABLE idempotency_keys ADD COLUMN content TEXT NOT NULL DEFAULT '';
