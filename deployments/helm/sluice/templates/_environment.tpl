{{- /* Environment variables of a process, as YAML. Takes (dict "root" $ "component" "api"). */}}
{{- define "sluice.environment" -}}
{{- $root := .root }}
{{- $component := .component }}
{{- $c := index $root.Values $component }}
{{- $isAPI := eq $component "api" }}
{{- $env := dict "SLUICE_ADDR" (ternary ":8080" ":8081" $isAPI) "SLUICE_DATA_DIR" "/var/lib/sluice" "XDG_CACHE_HOME" "/tmp/cache" }}
{{- $_ := set $env "NATS_URL" (required "nats.urls: the NATS servers, such as [nats://nats.nats.svc:4222]" (join "," $root.Values.nats.urls)) }}
{{- $_ := set $env "SLUICE_NATS_REPLICAS" (toString $root.Values.nats.replicas) }}
{{- if $root.Values.nats.creds.existingSecret }}
{{- $_ := set $env "NATS_CREDS" "/etc/sluice/nats-creds/nats.creds" }}
{{- end }}
{{- if $root.Values.nats.tls.existingSecret }}
{{- $_ := set $env "NATS_CA" "/etc/sluice/nats-tls/ca.crt" }}
{{- if $root.Values.nats.tls.certKey }}
{{- $_ := set $env "NATS_CERT" "/etc/sluice/nats-tls/tls.crt" }}
{{- $_ := set $env "NATS_KEY" "/etc/sluice/nats-tls/tls.key" }}
{{- end }}
{{- end }}
{{- if $isAPI }}
{{- $_ := set $env "NATS_MONITOR_URL" (join "," $root.Values.nats.monitorUrls) }}
{{- $_ := set $env "SLUICE_WORKERS" "false" }}
{{- /* The embedded index belongs to a single process, but here are several. */}}
{{- $_ := set $env "SLUICE_EMBEDDED_INDEX" "false" }}
{{- end }}
{{- if eq $component "crawler" }}
{{- $_ := set $env "CHROME_URL" (ternary (printf "http://%s-browser:9222" (include "sluice.fullname" $root)) $c.chromeUrl $root.Values.browser.enabled) }}
{{- $_ := set $env "SLUICE_CRAWL_ALLOW" (join "," $c.allow) }}
{{- $_ := set $env "SLUICE_CRAWL_DELAY" $c.pace.delay }}
{{- $_ := set $env "SLUICE_CRAWL_PER_HOST" (toString $c.pace.perHost) }}
{{- end }}
{{- if ne $component "crawler" }}
{{- $_ := set $env "MILVUS_ADDR" (required "milvus.address: host:port of Milvus, such as milvus.milvus.svc:19530" $root.Values.milvus.address) }}
{{- $_ := set $env "MILVUS_USER" $root.Values.milvus.user }}
{{- $_ := set $env "MILVUS_DATABASE" $root.Values.milvus.database }}
{{- $_ := set $env "MILVUS_TLS" $root.Values.milvus.tls }}
{{- $_ := set $env "OPENAI_BASE_URL" $root.Values.models.baseURL }}
{{- $_ := set $env "SLUICE_CHAT_MODEL" $root.Values.models.chat }}
{{- $_ := set $env "SLUICE_EMBED_MODEL" $root.Values.models.embed }}
{{- $_ := set $env "SLUICE_EMBED_DIMENSIONS" (toString $root.Values.models.dimensions) }}
{{- $_ := set $env "SLUICE_EMBED_QUERY_PREFIX" $root.Values.models.queryPrefix }}
{{- $_ := set $env "SLUICE_EMBED_PASSAGE_PREFIX" $root.Values.models.passagePrefix }}
{{- if and (include "sluice.models" $root) $root.Values.models.directory.path }}
{{- $_ := set $env "SLUICE_EMBED_DIR" (printf "/var/lib/sluice/models/%s" $root.Values.models.directory.path) }}
{{- end }}
{{- end }}
{{- if $isAPI }}
{{- $_ := set $env "AZURE_OPENAI_ENDPOINT" $root.Values.models.azure.endpoint }}
{{- $_ := set $env "AZURE_OPENAI_API_VERSION" $root.Values.models.azure.apiVersion }}
{{- $_ := set $env "ANTHROPIC_BASE_URL" $root.Values.models.anthropicURL }}
{{- $_ := set $env "SLUICE_CHAT_FALLBACK" $root.Values.models.chatFallback }}
{{- $_ := set $env "RERANK_URL" $root.Values.rerank.url }}
{{- $_ := set $env "RERANK_MODEL" $root.Values.rerank.model }}
{{- end }}
{{- /* Settings of the component override settings of all processes, which override values of the chart. The function merge
would not do: it treats false, 0 and "" as missing. An empty value leaves the setting out. */}}
{{- range $settings := list $root.Values.settings $c.settings }}
{{- range $name, $value := $settings }}
{{- $_ := set $env $name $value }}
{{- end }}
{{- end }}
{{- range $name, $value := $env }}
{{- $text := include "sluice.text" $value }}
{{- if ne $text "" }}
{{ $name }}: {{ $text | quote }}
{{- end }}
{{- end }}
{{- end }}

{{- /* A value as text. Helm reads numbers in a values file as floats, and would print a large one as 1e+07. */}}
{{- define "sluice.text" -}}
{{- if not (kindIs "float64" .) }}
{{- toString . }}
{{- else if eq . (floor .) }}
{{- printf "%.0f" . }}
{{- else }}
{{- regexReplaceAll "0+$" (printf "%.9f" .) "" }}
{{- end }}
{{- end }}
