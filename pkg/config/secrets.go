package config

import (
	"net/url"
	"slices"
	"strings"
)

// Secrets returns all secret values: keys, tokens, and passwords in addresses.
func (c Config) Secrets() []string {
	all := []string{c.APIKey, c.AdminKey, c.NATSToken, c.MilvusPassword, c.OpenAIKey, c.AzureKey, c.AnthropicKey, c.RerankKey, c.SecretKey}
	servers := strings.Split(c.NATSURL, ",")
	for i, address := range slices.Concat(servers, c.NATSMonitor, []string{c.ChromeURL, c.DatabaseURL, c.CrawlProxy}) {
		u, err := url.Parse(strings.TrimSpace(address))
		if err != nil {
			all = append(all, address) // hide the whole address, because the secret in it cannot be located
			continue
		}
		password, has := u.User.Password()
		if !has && i < len(servers) {
			password = u.User.Username() // NATS treats a user name without a password as a token
		}
		all = append(all, password, u.Query().Get("password"), u.Query().Get("token"))
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(s string) bool { return s == "" })
}
