{{- define "modelgate.name" -}}
{{- if contains "modelgate" .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-modelgate" .Release.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "modelgate.selector" -}}
app.kubernetes.io/name: modelgate
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "modelgate.labels" -}}
{{ include "modelgate.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "modelgate.secret" -}}
{{- .Values.existingSecret | default (include "modelgate.name" .) }}
{{- end }}

{{- define "modelgate.hasSecret" -}}
{{- if or .Values.existingSecret .Values.secrets }}yes{{ end }}
{{- end }}

{{/* Several gateways must share one database; otherwise each would have its own ledger. */}}
{{- define "modelgate.isSeveral" -}}
{{- if or .Values.autoscaling.enabled (gt (int .Values.replicas) 1) }}
{{- if not .Values.existingSecret }}
{{- range $name := list "DATABASE_URL" "REDIS_URL" }}
{{- if not (hasKey $.Values.secrets $name) }}{{ fail (printf "More than one gateway needs %s in secrets, or an existingSecret that has it" $name) }}{{ end }}
{{- end }}
{{- end }}yes
{{- end }}
{{- end }}

{{/* Whether the database is PostgreSQL, which an old gateway and its successor may use at once. */}}
{{- define "modelgate.isShared" -}}
{{- if or (include "modelgate.isSeveral" .) (hasKey .Values.secrets "DATABASE_URL") .Values.sharedDatabase }}yes{{ end }}
{{- end }}

{{/* Gateways on PostgreSQL have a volume each, which a Deployment cannot give them. */}}
{{- define "modelgate.kind" -}}
{{- if and .Values.persistence.enabled (include "modelgate.isShared" .) }}StatefulSet{{ else }}Deployment{{ end }}
{{- end }}

{{/* Gateways that share a database need one key for stored secrets: a generated one, unless `secrets` has it. */}}
{{- define "modelgate.secretsKey" -}}
{{- if and (include "modelgate.isShared" .) (not (hasKey .Values.secrets "SECRETS_KEY")) }}{{ include "modelgate.name" . }}-secrets-key{{ end }}
{{- end }}

{{- define "modelgate.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (ternary (include "modelgate.name" .) "default" .Values.serviceAccount.create) }}
{{- end }}
