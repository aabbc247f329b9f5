import { useState } from "react";
import { api, request } from "../../../data/api.ts";
import { type Provider, refreshProviders } from "../../../data/providers.ts";
import { formatAge } from "../../../format.ts";
import { Button } from "../../../ui/button.tsx";
import { Confirm } from "../../../ui/confirm.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { Callout } from "../../../ui/feedback.tsx";
import { TextField } from "../../../ui/field.tsx";
import { Form, Submit, useForm } from "../../../ui/form.tsx";
import { toast } from "../../../ui/toast.tsx";
import { useAction } from "../../../ui/use-action.ts";
import { ProviderStatus } from "./describe.tsx";
import { KeysPart } from "./keys-part.tsx";
import { RoutesPart } from "./routes-part.tsx";
import { runTest } from "./run-test.ts";

/** Everything about one provider. */
export function ProviderDialog({ provider, onClose }: { provider: Provider; onClose: () => void }) {
  const { name, origin, status, base_url, base_url_source, error, managed } = provider;
  const test = useAction(() => runTest(name));
  const [asked, ask] = useState<"disable" | "remove">();
  const lastError = provider.routes
    .flatMap(({ model, attempts: { last_error } }) => (last_error === null ? [] : [{ model, ...last_error }]))
    .sort((one, other) => (one.at < other.at ? 1 : -1))[0];
  if (asked !== undefined)
    return <EndProvider {...{ name, asked, onClose: () => ask(undefined), onRemoved: onClose }} />;
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
        <KeysPart provider={provider} />
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

interface EndProps {
  name: string;
  asked: "disable" | "remove";
  onClose: () => void;
  onRemoved: () => void;
}

/** Asks before callers lose models. */
function EndProvider({ name, asked, onClose, onRemoved }: EndProps) {
  const one = api.admin.providers({ id: name });
  const act = async () => {
    await (asked === "remove" ? request(one.delete()) : request(one.patch({ enabled: false })));
    await refreshProviders();
    toast(asked === "remove" ? `${name} is removed` : `${name} is disabled`);
    if (asked === "remove") onRemoved();
  };
  const title = asked === "remove" ? `Remove ${name}?` : `Disable ${name}?`;
  const action = asked === "remove" ? "Remove provider" : "Disable provider";
  return (
    <Confirm title={title} action={action} act={act} onClose={onClose}>
      Models that no other provider serves can no longer be called. Running calls end normally.
      {asked === "remove" && " Its keys are deleted."}
    </Confirm>
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
