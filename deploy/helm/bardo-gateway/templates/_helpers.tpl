{{- define "bardo.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "bardo.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "bardo.labels" -}}
{{ include "bardo.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "bardo.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{- /* What a value of the schema cannot say. */ -}}
{{- define "bardo.check" -}}
{{- if not .Values.existingSecret -}}
{{- fail (printf "set existingSecret to a Secret of yours:\n  kubectl create secret generic bardo --namespace %s --from-literal=admin-token=$(openssl rand -hex 24) --from-literal=client-key=$(openssl rand -hex 24)" .Release.Namespace) -}}
{{- end -}}
{{- if and (not .Values.postgres.enabled) (or (gt (int .Values.replicaCount) 1) .Values.autoscaling.enabled) -}}
{{- fail "several replicas share accounts and keys over Postgres: set postgres.enabled, or replicaCount to 1" -}}
{{- end -}}
{{- end -}}

{{- /* The configuration file: that of the values, and what the chart decides. */ -}}
{{- define "bardo.config" -}}
{{- $secret := "file:/run/secrets/bardo" -}}
{{- $server := dict "listen" "0.0.0.0:8402" "admin_listen" "0.0.0.0:8403" "admin_token" (printf "%s/admin-token" $secret) "drain" (printf "%ds" (int .Values.drainSeconds)) -}}
{{- $config := dict "server" $server -}}
{{- if not .Values.config.auth -}}
{{- $_ := set $config "auth" (dict "keys" (list (dict "id" "me" "key" (printf "%s/client-key" $secret)))) -}}
{{- end -}}
{{- if .Values.postgres.enabled -}}
{{- $_ := set $config "store" (dict "url" (printf "%s/postgres-url" $secret)) -}}
{{- end -}}
{{- if .Values.redis.enabled -}}
{{- $instances := ternary .Values.autoscaling.maxReplicas .Values.replicaCount .Values.autoscaling.enabled -}}
{{- $_ := set $config "limits" (dict "redis_url" (printf "%s/redis-url" $secret) "instances" (int $instances)) -}}
{{- $_ := set $config "cache" (dict "redis_url" (printf "%s/redis-url" $secret) "redis_key" (printf "%s/redis-key" $secret)) -}}
{{- $_ := set $config "inference" (dict "caching" (dict "secret" (printf "%s/caching-secret" $secret))) -}}
{{- end -}}
{{- mergeOverwrite (deepCopy .Values.config) $config | toYaml -}}
{{- end -}}
