import { describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { version } from "../../../package.json" with { type: "json" };
import { packChart } from "../../../scripts/pack-image.ts";
import { listVariables, readConfig } from "../../../src/config/index.ts";
import { moduleSettings } from "../../../src/modules/index.ts";

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
  expect([...named, ...Object.keys(settings)].filter((name) => !listVariables(moduleSettings).includes(name))).toEqual(
    [],
  );
  expect(() => readConfig(settings, moduleSettings)).not.toThrow();
});

test("the user of the pods is a value alone, so that null leaves it to a cluster such as OpenShift", async () => {
  const values = (await read("values.yaml")) as { podSecurityContext: unknown };
  const image = await Bun.file(join(chart, "../../Dockerfile")).text();
  const [, user] = /^USER (\d+):\d+$/m.exec(image) ?? [];
  const id = Number(user);
  expect(values.podSecurityContext).toEqual({ runAsUser: id, runAsGroup: id, fsGroup: id });
  const deployment = await Bun.file(join(chart, "templates/deployment.yaml")).text();
  expect(deployment).not.toMatch(/runAsUser|runAsGroup|fsGroup/);
  expect(deployment).toContain("{{- with .Values.podSecurityContext }}");
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
    const names = readdirSync(chart, { recursive: true, encoding: "utf8" });
    const files = names.filter((path) => statSync(join(chart, path)).isFile()).map((path) => `modelgate/${path}`);
    expect([...packed.keys()].sort()).toEqual(files.sort());
    const rules = join(chart, "../../prometheus/modelgate.rules.yaml");
    expect(await packed.get("modelgate/files/modelgate.rules.yaml")?.text()).toBe(await Bun.file(rules).text());
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
  metadata: { name: string; annotations?: Record<string, string> };
  automountServiceAccountToken?: boolean;
  spec: {
    groups?: { rules: { alert: string }[] }[];
    policyTypes?: string[];
    ingress?: { ports: { port: string }[]; from?: unknown[] }[];
    egress?: unknown[];
    strategy?: { type: string };
    updateStrategy?: { type: string };
    volumeClaimTemplates?: { metadata: { name: string } }[];
    scaleTargetRef?: { kind: string };
    template?: {
      spec: {
        serviceAccountName: string;
        automountServiceAccountToken: boolean;
        containers: { envFrom?: { secretRef: { name: string } }[]; startupProbe?: unknown }[];
        topologySpreadConstraints?: { topologyKey: string; whenUnsatisfiable: string; labelSelector: unknown }[];
        volumes?: Record<string, unknown>[];
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

/** The pod that a chart makes. */
function podOf({ objects }: { objects: Manifest[] }) {
  const gateways = objects.find(({ kind }) => /^(Deployment|StatefulSet)$/.test(kind));
  if (gateways?.spec.template === undefined) throw new Error("The chart makes no gateway");
  return gateways.spec.template.spec;
}

const shared = { DATABASE_URL: "postgres://books", REDIS_URL: "redis://limits" };

describe.skipIf(helm === null)("helm", () => {
  test("finds no fault with the chart", () => {
    const { exitCode, stdout } = Bun.spawnSync([helm as string, "lint", "--strict", chart]);
    expect([exitCode, stdout.toString()]).toEqual([0, expect.stringContaining("0 chart(s) failed")]);
  });

  test("makes one gateway with a volume, of which two never run at once", () => {
    const { objects, kinds } = template({});
    expect(kinds).toEqual(["Deployment", "PersistentVolumeClaim", "Service", "ServiceAccount"]);
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
        "ServiceAccount",
        "ServiceMonitor",
        "StatefulSet",
      ]),
    );
    const gateways = objects.find(({ kind }) => kind === "StatefulSet");
    expect(gateways?.spec.updateStrategy?.type).toBe("RollingUpdate");
    expect(gateways?.spec.volumeClaimTemplates?.map(({ metadata }) => metadata.name)).toEqual(["home"]);
    expect(gateways?.spec.template?.spec.volumes?.map(({ name }) => name)).toEqual(["tmp", "plugins"]);
    const scaled = objects.find(({ kind }) => kind === "HorizontalPodAutoscaler");
    expect(scaled?.spec.scaleTargetRef?.kind).toBe("StatefulSet");
  });

  test("makes several without volumes where they are switched off", () => {
    const { objects, kinds } = template({ replicas: 2, secrets: shared, persistence: { enabled: false } });
    expect(kinds).not.toContain("StatefulSet");
    const deployment = objects.find(({ kind }) => kind === "Deployment");
    expect(deployment?.spec.strategy?.type).toBe("RollingUpdate");
    expect(deployment?.spec.template?.spec.volumes?.[0]).toEqual({ name: "home", emptyDir: {} });
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

  test("gives one gateway with PostgreSQL a small volume and a rolling update, and no second one at its side", () => {
    for (const values of [{ secrets: { DATABASE_URL: "postgres://books" } }, { sharedDatabase: true }]) {
      const { objects, kinds } = template(values);
      expect(kinds).toEqual(
        ["Secret", "Service", "ServiceAccount", "StatefulSet"].concat("secrets" in values ? ["Secret"] : []).sort(),
      );
      expect(objects.find(({ kind }) => kind === "StatefulSet")?.spec.updateStrategy?.type).toBe("RollingUpdate");
    }
    const { objects } = template({ sharedDatabase: true, persistence: { enabled: false } });
    expect(objects.find(({ kind }) => kind === "Deployment")?.spec.strategy?.type).toBe("RollingUpdate");
  });

  test("spreads several gateways over hosts and zones, where that is possible or as a condition", () => {
    expect(podOf(template({})).topologySpreadConstraints).toBeUndefined();
    const spreadOf = (spread: object) =>
      podOf(template({ replicas: 3, secrets: shared, spread })).topologySpreadConstraints?.map((constraint) => [
        constraint.topologyKey,
        constraint.whenUnsatisfiable,
        constraint.labelSelector,
      ]);
    const labels = { matchLabels: { "app.kubernetes.io/name": "modelgate", "app.kubernetes.io/instance": "gate" } };
    expect(spreadOf({})).toEqual([
      ["kubernetes.io/hostname", "ScheduleAnyway", labels],
      ["topology.kubernetes.io/zone", "ScheduleAnyway", labels],
    ]);
    const host = { topologyKeys: ["kubernetes.io/hostname"], whenUnsatisfiable: "DoNotSchedule" };
    expect(spreadOf(host)).toEqual([["kubernetes.io/hostname", "DoNotSchedule", labels]]);
  });

  test("gives pods a service account without a token, by its own name, another or none", () => {
    const { objects } = template({ serviceAccount: { annotations: { role: "of-a-cloud" } } });
    const account = objects.find(({ kind }) => kind === "ServiceAccount");
    expect(account).toMatchObject({
      metadata: { name: "gate-modelgate", annotations: { role: "of-a-cloud" } },
      automountServiceAccountToken: false,
    });
    expect(podOf({ objects })).toMatchObject({
      serviceAccountName: "gate-modelgate",
      automountServiceAccountToken: false,
    });
    expect(podOf(template({ serviceAccount: { name: "mine" } })).serviceAccountName).toBe("mine");
    const none = template({ serviceAccount: { create: false } });
    expect(none.kinds).not.toContain("ServiceAccount");
    expect(podOf(none).serviceAccountName).toBe("default");
  });

  test("makes a network policy only where it is switched on, and limits what goes out only by rules", () => {
    const policyOf = (networkPolicy: object) =>
      template({ networkPolicy: { enabled: true, ...networkPolicy } }).objects.find(
        ({ kind }) => kind === "NetworkPolicy",
      )?.spec;
    expect(template({}).kinds).not.toContain("NetworkPolicy");
    expect(policyOf({})).toMatchObject({ policyTypes: ["Ingress"], ingress: [{ ports: [{ port: "http" }] }] });
    const peers = [{ namespaceSelector: {} }];
    const rule = { ports: [{ port: 443 }] };
    const closed = policyOf({ from: peers, metricsFrom: peers, egress: [rule] });
    expect(closed?.policyTypes).toEqual(["Ingress", "Egress"]);
    expect(closed?.ingress).toEqual([
      { ports: [{ port: "http" }], from: peers },
      { ports: [{ port: "metrics" }], from: peers },
    ]);
    const names = [
      { port: 53, protocol: "UDP" },
      { port: 53, protocol: "TCP" },
    ];
    expect(closed?.egress).toEqual([{ ports: names }, rule]);
  });

  test("makes a PrometheusRule with each alert of deploy/prometheus where it is switched on", async () => {
    expect(template({}).kinds).not.toContain("PrometheusRule");
    const { objects } = template({ metrics: { prometheusRule: true } });
    const rules = objects.find(({ kind }) => kind === "PrometheusRule")?.spec;
    const file = await Bun.file(join(chart, "../../prometheus/modelgate.rules.yaml")).text();
    expect(rules).toEqual(Bun.YAML.parse(file) as NonNullable<typeof rules>);
  });

  test("lets a start take two minutes before it is tried again", () => {
    expect(podOf(template({})).containers[0]?.startupProbe).toMatchObject({ periodSeconds: 1, failureThreshold: 120 });
  });
});
