#!/bin/sh
# Writes the secrets of compose.yaml into ./secrets: random ones, and your provider's key. A secret
# that exists stays as it is.
#
#   ANTHROPIC_API_KEY=sk-ant-... ./secrets.sh
set -eu

cd "$(dirname "$0")"
# Only you can enter the folder. The files themselves are readable, because each container has a user
# of its own and gets single files.
mkdir -p secrets
chmod 0700 secrets

random() {
    od -An -N24 -tx1 /dev/urandom | tr -d ' \n'
}

put() {
    if [ ! -s "secrets/$1" ]; then
        printf '%s' "$2" >"secrets/$1"
        chmod 0444 "secrets/$1"
    fi
}

if [ ! -s secrets/anthropic_api_key ] && [ -z "${ANTHROPIC_API_KEY:-}" ]; then
    echo "Set ANTHROPIC_API_KEY to your key, or change the providers in bardo.yaml and compose.yaml." >&2
    exit 1
fi

put admin_token "$(random)"
put client_key "$(random)"
put postgres_password "$(random)"
put postgres_url "postgres://bardo:$(cat secrets/postgres_password)@postgres:5432/bardo?sslmode=disable"
put redis_password "$(random)"
put redis_url "redis://:$(cat secrets/redis_password)@redis:6379/0"
put redis_key "$(random)"
put grafana_password "$(random)"
put anthropic_api_key "${ANTHROPIC_API_KEY:-}"

echo "API key of your clients:   $(cat secrets/client_key)"
echo "Password of Grafana:       $(cat secrets/grafana_password)   (user admin, http://127.0.0.1:3000)"
echo "Token of the admin API:    $(cat secrets/admin_token)"
