import { useState } from "react";
import { api, request } from "../../data/api.ts";
import { formatAge } from "../../format.ts";
import { Button } from "../../kit/button.tsx";
import { Dialog } from "../../kit/dialog.tsx";
import { Callout } from "../../kit/feedback.tsx";
import { TextField } from "../../kit/field.tsx";
import { Form, Submit, useForm } from "../../kit/form.tsx";
import { toast, toastError } from "../../kit/toast.tsx";
import { useAction } from "../../kit/use-action.ts";
import { type Provider, type ProviderKey, refreshProviders } from "./api.ts";
import { ConfirmDisable, ConfirmRemove, ConfirmRemoveKey } from "./confirm-end.tsx";
import { ProviderStatus } from "./describe.tsx";
import { KeysPart } from "./keys-part.tsx";
import { RoutesPart } from "./routes-part.tsx";

/** Everything about one provider. */
export function ProviderDialog({ provider, onClose }: { provider: Provider; onClose: () => void }) {
  const { name, origin, status, base_url, base_url_source, error, managed } = provider;
  const test = useAction(() => runTest(name));
  const [asked, ask] = useState<"disable" | "remove" | ProviderKey>();
  const lastError = provider.routes
    .flatMap(({ model, attempts: { last_error } }) => (last_error === null ? [] : [{ model, ...last_error }]))
    .sort((one, other) => (one.at < other.at ? 1 : -1))[0];
  const end = { name, onClose: () => ask(undefined) };
  if (asked === "remove") return <ConfirmRemove {...end} onRemoved={onClose} />;
  if (asked === "disable") return <ConfirmDisable {...end} />;
  if (asked !== undefined) return <ConfirmRemoveKey {...end} keyId={asked.id ?? ""} last4={asked.last4} />;
  return (
    <Dialog title={name} description={base_url ?? origin} isWide onClose={onClose}>
      <div className="dialog-body stack">
        {error !== null && <Callout tone="warn">{error}</Callout>}
        <dl className="facts">
          <dt>Status</dt>
          <dd>
            <ProviderStatus status={status} />
          </dd>
          <dt>Comes from</dt>
          <dd>
            {origin}
            {base_url_source === "environment" && ", base URL from the environment"}
          </dd>
          {lastError !== undefined && (
            <>
              <dt>Last error</dt>
              <dd className="break">
                {lastError.reason} · {lastError.model} · {formatAge(lastError.at)}
              </dd>
            </>
          )}
        </dl>
        <KeysPart provider={provider} onRemove={ask} />
        <OrderForm provider={provider} />
        <RoutesPart routes={provider.routes} />
      </div>
      <footer className="dialog-foot">
        {managed && <Button onClick={() => ask("remove")}>Remove</Button>}
        <EnableButton provider={provider} onDisable={() => ask("disable")} />
        <Button look="primary" disabled={test.isBusy} onClick={() => void test.run()}>
          {test.isBusy ? "Testing…" : "Test connection"}
        </Button>
      </footer>
    </Dialog>
  );
}

function EnableButton({ provider: { name, enabled }, onDisable }: { provider: Provider; onDisable: () => void }) {
  const enable = useAction(async () => {
    await request(api.admin.providers({ id: name }).patch({ enabled: true }));
    await refreshProviders();
    toast(`${name} is enabled`);
  });
  return enabled ? (
    <Button onClick={onDisable}>Disable</Button>
  ) : (
    <Button disabled={enable.isBusy} onClick={() => void enable.run()}>
      Enable
    </Button>
  );
}

/** The order in which routes of several providers to one model are called. */
function OrderForm({ provider: { name, priority, weight } }: { provider: Provider }) {
  const initial = { priority: String(priority ?? ""), weight: String(weight ?? "") };
  const form = useForm(initial, async (values) => {
    await request(
      api.admin.providers({ id: name }).patch({ priority: toNumber(values.priority), weight: toNumber(values.weight) }),
    );
    await refreshProviders();
    toast(`The order of ${name} is changed`);
  });
  const isValid = [form.values.priority, form.values.weight].every((text) => /^\d{0,4}$/.test(text.trim()));
  return (
    <Form form={form} className="stack stack-tight">
      <div className="grid-two">
        <TextField
          label="Priority"
          inputMode="numeric"
          autoComplete="off"
          placeholder="by model"
          {...form.field("priority")}
          hint="The lowest is called first"
        />
        <TextField
          label="Weight"
          inputMode="numeric"
          autoComplete="off"
          placeholder="by model"
          {...form.field("weight")}
          hint="Share among equals; 0: only if others fail"
        />
      </div>
      <div className="row">
        <Submit form={form} label="Set order" look="" isComplete={isValid} />
      </div>
    </Form>
  );
}

const toNumber = (text: string) => (text.trim() === "" ? null : Number(text));

/** Calls the provider once and says how it went. */
export async function runTest(name: string, keyId?: string): Promise<void> {
  try {
    const body = keyId === undefined ? {} : { key_id: keyId };
    const { ok, error, model, host, ms } = await request(api.admin.providers({ id: name }).test.post(body));
    if (ok) toast(`${name} works: ${host} answered ${model} in ${ms} ms`);
    else toastError(new Error(`${name} does not work. ${error}`));
  } catch (error) {
    toastError(error);
  }
  await refreshProviders();
}
