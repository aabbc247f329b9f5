import { startGateway } from "../../support/gateway.ts";

/** Run where there is no network but this machine's own: starts a gateway, asks it, and says what came of it. */
const gateway = await startGateway();
try {
  const world = await fetch("http://192.0.2.1/", { signal: AbortSignal.timeout(2000) }).then(
    () => "reached",
    () => "out of reach",
  );
  const messages = [{ role: "user", content: "Say hello" }];
  const answer = await gateway.post("/chat/completions", { model: "gpt-4.1-nano", messages });
  const { object } = (await answer.json()) as { object: string };
  const page = await fetch(`${gateway.origin}/docs`);
  const health = await gateway.run("health");
  process.stdout.write(
    JSON.stringify({ world, status: answer.status, object, docs: page.status, health: health.code }),
  );
} finally {
  await gateway.stop();
}
