import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { SQL } from "bun";
import { freePort } from "./free-port.ts";

/** A real MariaDB of the calling test alone, with its own data and a free port of the loopback. */
export interface MariaDbServer {
  url(database: string): string;
  /** Ends it and removes its data. */
  remove(): Promise<void>;
}

const programs = ["mariadbd", "mariadb-install-db"].map((name) => Bun.which(name));

/** Why there is no MariaDB to test with; `undefined` when there is. */
export const whyNoMariaDb = programs.includes(null)
  ? "MariaDB is not installed here: apt-get install mariadb-server"
  : undefined;

const startMsMax = 60_000;

export async function startMariaDb(): Promise<MariaDbServer> {
  const [server, install] = programs;
  if (server == null || install == null) throw new Error(whyNoMariaDb);
  const folder = mkdtempSync(join(tmpdir(), "modelgate-mariadb-"));
  // Root has to say that it means itself.
  const asUser = userInfo().uid === 0 ? ["--user=root"] : [];
  const common = ["--no-defaults", `--datadir=${join(folder, "data")}`, ...asUser];
  const made = Bun.spawnSync([install, ...common, "--auth-root-authentication-method=normal", "--skip-test-db"]);
  if (made.exitCode !== 0) throw new Error(`MariaDB could not be prepared: ${made.stderr}${made.stdout}`);
  const port = await freePort();
  const places = [`--port=${port}`, "--bind-address=127.0.0.1", `--socket=${join(folder, "socket")}`];
  const log = join(folder, "log");
  // The server ends with this process, however that ends.
  const child = Bun.spawn(["setpriv", "--pdeathsig", "KILL", server, ...common, ...places], {
    stdout: "ignore",
    stderr: Bun.file(log),
  });
  const url = (database: string) => `mysql://root@127.0.0.1:${port}/${database}`;
  const deadline = Date.now() + startMsMax;
  while (!(await answers(url("mysql")))) {
    if (child.exitCode !== null || Date.now() > deadline) {
      throw new Error(`MariaDB did not start: ${await Bun.file(log).text()}`);
    }
    await Bun.sleep(50);
  }
  return {
    url,
    async remove() {
      child.kill("SIGKILL");
      await child.exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function answers(url: string): Promise<boolean> {
  const sql = new SQL(url, { max: 1 });
  try {
    await sql.unsafe("select 1");
    return true;
  } catch {
    return false;
  } finally {
    await sql.close();
  }
}
