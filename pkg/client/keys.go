package client

import (
	"context"
	"net/http"
)

// CreateKey makes an API key. Its secret is in the answer, and nowhere else.
func (c *Client) CreateKey(ctx context.Context, k KeyCreate) (*KeyCreated, error) {
	return one[KeyCreated](c.endpoints.CreateKey(ctx, nil, k))
}

// ListKeys returns the workspace's keys without their secrets, newest first.
func (c *Client) ListKeys(ctx context.Context) ([]Key, error) {
	got, err := one[KeyList](c.endpoints.ListKeys(ctx))
	return value(got).Data, err
}

// RevokeKey has a key refused from now on.
func (c *Client) RevokeKey(ctx context.Context, id string) error {
	return deleted(ctx, id, c.endpoints.RevokeKey)
}

// SetKeyLimits takes the place of all limits that the key had.
func (c *Client) SetKeyLimits(ctx context.Context, id string, l KeyLimitsUpdate) (*Key, error) {
	return with[KeyLimitsUpdate, Key](ctx, id, l, c.endpoints.SetKeyLimits)
}

// GetUsage is what the workspace has used in a month, as 2026-05, or in the current one for "".
func (c *Client) GetUsage(ctx context.Context, month string) (*Usage, error) {
	var p GetUsageParams
	if month != "" {
		p.Month = &month
	}
	return one[Usage](c.endpoints.GetUsage(ctx, &p))
}

// GetLimits reads the limits that were set for the workspace.
func (c *Client) GetLimits(ctx context.Context) (*Limits, error) {
	return one[Limits](c.endpoints.GetLimits(ctx))
}

// SetLimits takes the place of all limits that were set for the workspace.
func (c *Client) SetLimits(ctx context.Context, l LimitsUpdate) (*Limits, error) {
	return one[Limits](c.endpoints.SetLimits(ctx, l))
}

// GetReadiness says whether the service can serve, dependency by dependency. That one is down is no error here.
func (c *Client) GetReadiness(ctx context.Context) (*Readiness, error) {
	return one[Readiness](c.endpoints.GetReadiness(in(ctx, manner{accept: http.StatusServiceUnavailable})))
}
