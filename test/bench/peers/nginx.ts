import { userInfo } from "node:os";
import { join } from "node:path";
import type { Contender, Place } from "./contender.ts";
import { versionOf } from "./install.ts";

const program = Bun.which("nginx") ?? "/usr/sbin/nginx";

/** It hands bytes on and looks at none: nothing that reads and answers HTTP costs much less. */
export async function nginx(): Promise<Contender> {
  const version = await versionOf(program, "-v");
  return {
    name: "nginx",
    version,
    without: "everything: it hands on bytes",
    async commandAt(place) {
      const file = join(place.folder, "nginx.conf");
      await Bun.write(file, configOf(place));
      return { command: [program, "-p", place.folder, "-c", file, "-e", "stderr"] };
    },
  };
}

function configOf({ port, provider, caFile, folder }: Place): string {
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `${name}_temp_path ${join(folder, name)};`,
  );
  const trusted = caFile === undefined ? "" : `proxy_ssl_verify on; proxy_ssl_trusted_certificate ${caFile};`;
  return `
daemon off; master_process off; pid ${join(folder, "nginx.pid")};
${userInfo().uid === 0 ? "user root;" : ""}
events { worker_connections 4096; }
http {
  access_log off; ${temporary.join(" ")}
  keepalive_requests 1000000000; client_body_buffer_size 1m;
  upstream provider { server ${new URL(provider).host}; keepalive 512; keepalive_requests 1000000000; }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass ${new URL(provider).protocol}//provider; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_buffering off; proxy_ssl_name localhost; ${trusted}
    }
  }
}
`;
}
