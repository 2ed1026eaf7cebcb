{{- define "sluice.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- /* Short enough that the name with the longest suffix fits into a label. */}}
{{- define "sluice.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else if contains (include "sluice.name" .) .Release.Name }}
{{- .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "sluice.name" .) | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- /* The labels of all objects. */}}
{{- define "sluice.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/name: {{ include "sluice.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- /* Labels that select the pods of a component. Takes (dict "root" $ "component" "api"). */}}
{{- define "sluice.selector" -}}
app.kubernetes.io/name: {{ include "sluice.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "sluice.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "sluice.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "sluice.secret.api" -}}
{{- default (printf "%s-api" (include "sluice.fullname" .)) .Values.secrets.api.existingSecret }}
{{- end }}

{{- define "sluice.secret.shared" -}}
{{- default (printf "%s-shared" (include "sluice.fullname" .)) .Values.secrets.shared.existingSecret }}
{{- end }}

{{- /* An environment variable from a Secret. Takes (dict "secret" name "key" key "optional" bool). */}}
{{- define "sluice.secretEnv" -}}
- name: {{ .key }}
  valueFrom:
    secretKeyRef:
      name: {{ .secret }}
      key: {{ .key }}
      {{- if .optional }}
      optional: true
      {{- end }}
{{- end }}

{{- /* Whether a component is autoscaled; "true" or nothing. */}}
{{- define "sluice.scaled" -}}
{{- if ne .autoscaling.mode "none" }}true{{ end }}
{{- end }}

{{- /* Whether there is a volume with embedding models; "true" or nothing. */}}
{{- define "sluice.models" -}}
{{- with .Values.models.directory }}
{{- if and .existingClaim .image }}
{{- fail "models.directory: set existingClaim or image, not both" }}
{{- end }}
{{- if and .path (not (or .existingClaim .image)) }}
{{- fail "models.directory.path: name the volume that it lies in, by existingClaim or image" }}
{{- end }}
{{- if or .existingClaim .image }}true{{ end }}
{{- end }}
{{- end }}

{{- /* Converts a list of port numbers to the ports of a NetworkPolicy. */}}
{{- define "sluice.tcp" -}}
{{- range . }}
- {protocol: TCP, port: {{ . }}}
{{- end }}
{{- end }}
