import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { version } from "../../../package.json" with { type: "json" };
import { packChart } from "../../../scripts/pack-image.ts";
import { readConfig, variables } from "../../../src/config/index.ts";

const chart = join(import.meta.dir, "../../../deploy/helm/modelgate");
const read = async (name: string) => Bun.YAML.parse(await Bun.file(join(chart, name)).text());

test("the chart is of the version that the program has", async () => {
  expect(await read("Chart.yaml")).toMatchObject({ version, appVersion: version });
});

test("the chart sets nothing that the gateway does not read", async () => {
  const { settings } = (await read("values.yaml")) as { settings: Record<string, string> };
  const deployment = await Bun.file(join(chart, "templates/deployment.yaml")).text();
  const named = Array.from(deployment.matchAll(/- name: ([A-Z_]+)$/gm), ([, name = ""]) => name);
  expect(named.length).toBeGreaterThan(4);
  expect([...named, ...Object.keys(settings)].filter((name) => !variables.includes(name))).toEqual([]);
  expect(() => readConfig(settings)).not.toThrow();
});

test("the packed chart is the folder's files, and equal each time", async () => {
  const folder = mkdtempSync(join(tmpdir(), "modelgate-chart-"));
  try {
    const name = packChart(folder, version);
    expect(name).toBe(`modelgate-${version}.tgz`);
    const bytes = await Bun.file(join(folder, name)).bytes();
    packChart(folder, version);
    expect(await Bun.file(join(folder, name)).bytes()).toEqual(bytes);
    const packed = await new Bun.Archive(bytes).files();
    const files = Array.from(new Bun.Glob("**/*").scanSync({ cwd: chart }), (path) => `modelgate/${path}`);
    expect([...packed.keys()].sort()).toEqual(files.sort());
    expect(await packed.get("modelgate/Chart.yaml")?.text()).toBe(await Bun.file(join(chart, "Chart.yaml")).text());
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

const helm = Bun.which("helm");
if (helm === null) console.warn("The chart is read as text alone: there is no helm here");

/** An object that Kubernetes would be given, as far as it is read here. */
interface Manifest {
  kind: string;
  spec: {
    strategy?: { type: string };
    updateStrategy?: { type: string };
    volumeClaimTemplates?: { metadata: { name: string } }[];
    scaleTargetRef?: { kind: string };
    template?: {
      spec: {
        containers: { envFrom?: { secretRef: { name: string } }[] }[];
        volumes: Record<string, unknown>[];
        terminationGracePeriodSeconds: number;
      };
    };
  };
}

function secretsOf({ spec }: Manifest): string[] {
  return spec.template?.spec.containers[0]?.envFrom?.map(({ secretRef }) => secretRef.name) ?? [];
}

function template(values: object) {
  const command = [helm as string, "template", "gate", chart, "--kube-version", "1.30.0", "--values", "-"];
  const { stdout, stderr } = Bun.spawnSync(command, { stdin: Buffer.from(JSON.stringify(values)) });
  const parts = stdout.toString().split(/^---$/m);
  const objects = parts.map((part) => Bun.YAML.parse(part) as Manifest | null).filter((object) => object !== null);
  return { objects, kinds: objects.map(({ kind }) => kind).sort(), stderr: stderr.toString() };
}

const shared = { DATABASE_URL: "postgres://books", REDIS_URL: "redis://limits" };

describe.skipIf(helm === null)("helm", () => {
  test("finds no fault with the chart", () => {
    const { exitCode, stdout } = Bun.spawnSync([helm as string, "lint", "--strict", chart]);
    expect([exitCode, stdout.toString()]).toEqual([0, expect.stringContaining("0 chart(s) failed")]);
  });

  test("makes one gateway with a volume, of which two never run at once", () => {
    const { objects, kinds } = template({});
    expect(kinds).toEqual(["Deployment", "PersistentVolumeClaim", "Service"]);
    const deployment = objects.find(({ kind }) => kind === "Deployment");
    expect(deployment?.spec.strategy?.type).toBe("Recreate");
    expect(deployment?.spec.template?.spec.terminationGracePeriodSeconds).toBe(70);
  });

  test("makes several with all there is, each with a small volume of its own that outlives its pod", () => {
    const { objects, kinds } = template({
      secrets: { ...shared, OPENAI_API_KEY: "a word" },
      autoscaling: { enabled: true },
      ingress: { enabled: true, tlsSecret: "certificate" },
      metrics: { serviceMonitor: true },
      plugins: { "acme.json": '{ "name": "acme" }' },
    });
    expect(kinds).toEqual(
      ["ConfigMap", "HorizontalPodAutoscaler", "Ingress", "PodDisruptionBudget", "Secret"].concat([
        "Secret",
        "Service",
        "ServiceMonitor",
        "StatefulSet",
      ]),
    );
    const gateways = objects.find(({ kind }) => kind === "StatefulSet");
    expect(gateways?.spec.updateStrategy?.type).toBe("RollingUpdate");
    expect(gateways?.spec.volumeClaimTemplates?.map(({ metadata }) => metadata.name)).toEqual(["home"]);
    expect(gateways?.spec.template?.spec.volumes.map(({ name }) => name)).toEqual(["tmp", "plugins"]);
    const scaled = objects.find(({ kind }) => kind === "HorizontalPodAutoscaler");
    expect(scaled?.spec.scaleTargetRef?.kind).toBe("StatefulSet");
  });

  test("makes several without volumes where they are switched off", () => {
    const { objects, kinds } = template({ replicas: 2, secrets: shared, persistence: { enabled: false } });
    expect(kinds).not.toContain("StatefulSet");
    const deployment = objects.find(({ kind }) => kind === "Deployment");
    expect(deployment?.spec.strategy?.type).toBe("RollingUpdate");
    expect(deployment?.spec.template?.spec.volumes[0]).toEqual({ name: "home", emptyDir: {} });
  });

  test("gives several gateways one key for stored secrets, unless they have one", () => {
    const generated = (values: object) => {
      const { objects } = template(values);
      const deployment = objects.find(({ kind }) => /^(Deployment|StatefulSet)$/.test(kind)) as Manifest;
      const secrets = objects.filter(({ kind }) => kind === "Secret") as (Manifest & {
        data?: { SECRETS_KEY: string };
      })[];
      return { names: secretsOf(deployment), key: secrets.find(({ data }) => data !== undefined)?.data?.SECRETS_KEY };
    };
    const { names, key = "" } = generated({ replicas: 2, secrets: shared });
    expect(names).toEqual(["gate-modelgate-secrets-key", "gate-modelgate"]);
    expect(() => readConfig({ SECRETS_KEY: atob(key) })).not.toThrow();
    expect(generated({ replicas: 2, existingSecret: "mine" }).names).toEqual(["gate-modelgate-secrets-key", "mine"]);
    const own = { ...shared, SECRETS_KEY: "x".repeat(40) };
    expect(generated({ replicas: 2, secrets: own })).toEqual({ names: ["gate-modelgate"], key: undefined });
    expect(generated({ secrets: { OPENAI_API_KEY: "k" } })).toEqual({ names: ["gate-modelgate"], key: undefined });
  });

  test("refuses several gateways that would each keep a ledger of their own", () => {
    expect(template({ replicas: 2 }).stderr).toContain("More than one gateway needs DATABASE_URL in secrets");
    expect(template({ replicas: 2, secrets: { DATABASE_URL: "x" } }).stderr).toContain("needs REDIS_URL");
    expect(template({ replicas: 2, secrets: shared }).kinds).toContain("PodDisruptionBudget");
  });
});
