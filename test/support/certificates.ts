import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** An authority of one's own, and what it signed. */
export interface Certificates {
  ca: string;
  key: string;
  /** For localhost and 127.0.0.1. */
  cert: string;
  /** For another host name. */
  foreignCert: string;
  /** For localhost, and over since long. */
  oldCert: string;
}

/** Makes certificates by the `openssl` command; `undefined` where there is none. */
export function makeCertificates(): Certificates | undefined {
  if (Bun.which("openssl") === null) return undefined;
  const folder = mkdtempSync(join(tmpdir(), "modelgate-tls-"));
  const read = (name: string) => readFileSync(join(folder, name), "utf8");
  const openssl = (...args: string[]) => {
    const { exitCode, stderr } = Bun.spawnSync(["openssl", ...args], { cwd: folder });
    if (exitCode !== 0) throw new Error(`openssl ${args.join(" ")} failed: ${stderr}`);
  };
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  openssl("req", "-x509", ...curve, "-days", "2", "-subj", "/CN=Test authority", "-keyout", "ca.key", "-out", "ca.pem");
  openssl("req", ...curve, "-subj", "/CN=test", "-keyout", "key.pem", "-out", "request.pem");
  const sign = (name: string, hosts: string, dates: string[]) => {
    writeFileSync(join(folder, "names"), `subjectAltName=${hosts}\n`);
    const authority = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial"];
    openssl("x509", "-req", "-in", "request.pem", ...authority, ...dates, "-extfile", "names", "-out", name);
    return read(name);
  };
  try {
    return {
      ca: read("ca.pem"),
      key: read("key.pem"),
      cert: sign("cert.pem", "DNS:localhost,IP:127.0.0.1", ["-days", "2"]),
      foreignCert: sign("foreign.pem", "DNS:elsewhere.example", ["-days", "2"]),
      oldCert: sign("old.pem", "DNS:localhost,IP:127.0.0.1", ["-days", "-1"]),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
