import { useState } from "react";
import { Link, useParams } from "wouter";
import { navigate } from "wouter/use-browser-location";
import { fromSeconds, request } from "../../data/api.ts";
import { useMayAdminister } from "../../data/roles.ts";
import { formatAge } from "../../format.ts";
import { Button } from "../../kit/button.tsx";
import { Callout, Empty, Loaded } from "../../kit/feedback.tsx";
import { FigureField, readFigures, toFigureTexts } from "../../kit/figures.tsx";
import { Form, Submit, useForm } from "../../kit/form.tsx";
import { Fact, PageHead, Section } from "../../kit/page.tsx";
import { Segmented } from "../../kit/segmented.tsx";
import { toast } from "../../kit/toast.tsx";
import { useChoice } from "../../kit/url-state.ts";
import { useAction } from "../../kit/use-action.ts";
import { IncidentPart } from "../incidents/incident-part.tsx";
import { MarkupSection } from "../markups/markup-section.tsx";
import { useModelNames } from "../models/api.ts";
import {
  type Provider,
  type ProviderKey,
  providerOf,
  refreshProviders,
  type TestResult,
  testProvider,
  useProviders,
} from "./api.ts";
import { ConfirmDisable, ConfirmRemove, ConfirmRemoveKey } from "./confirm-end.tsx";
import { ProviderStatus } from "./describe.tsx";
import { describeTest, HealthFacts, HealthState, Strip, toPause } from "./health.tsx";
import { KeysPart } from "./keys-part.tsx";
import { ResumeButton } from "./resume-button.tsx";
import { RoutesPart } from "./routes-part.tsx";

const listPath = "/admin/providers";
const tabs = [
  ["health", "Health"],
  ["models", "Models"],
  ["keys", "API keys"],
  ["settings", "Settings"],
] as const;

/** Everything about one provider. */
export default function ProviderPage() {
  const { name = "" } = useParams<{ name: string }>();
  const providers = useProviders();
  return (
    <>
      <Link className="link back" href={listPath}>
        All providers
      </Link>
      <Loaded state={providers} lines={8}>
        {({ data }) => {
          const provider = data.find((one) => one.name === name);
          if (provider !== undefined) return <ProviderView key={name} provider={provider} />;
          return (
            <>
              <PageHead title={name} />
              <div className="card">
                <Empty icon="search" title="Provider not found">
                  <p>It may have been removed.</p>
                </Empty>
              </div>
            </>
          );
        }}
      </Loaded>
    </>
  );
}

function ProviderView({ provider }: { provider: Provider }) {
  const { name, origin, base_url, error, health, status } = provider;
  const nameOf = useModelNames();
  const [tab, setTab] = useChoice("tab", tabs);
  const [result, setResult] = useState<TestResult>();
  const [question, ask] = useState<"disable" | "remove" | ProviderKey>();
  const mayChange = useMayAdminister();
  const test = useAction(async () => setResult(await testProvider(name)));
  return (
    <>
      <PageHead
        title={name}
        description={
          <>
            <span className="break">{base_url ?? origin}</span> <State health={health} status={status} />
          </>
        }
      >
        {mayChange && <EnableButton provider={provider} onDisable={() => ask("disable")} />}
        {mayChange && (
          <Button
            look={provider.credential === "none" || provider.keys.length > 0 ? "primary" : ""}
            disabled={test.isBusy}
            onClick={() => void test.run()}
          >
            {test.isBusy ? "Testing…" : "Test connection"}
          </Button>
        )}
      </PageHead>
      <div className="stack">
        {error !== null && <Callout tone="warn">{error}</Callout>}
        <div aria-live="polite">
          <Callout tone="bad">{test.formError()}</Callout>
          {result !== undefined && (
            <Callout tone={result.ok ? "good" : "bad"}>{describeTest(name, result, nameOf)}</Callout>
          )}
        </div>
        <Segmented label="Part" value={tab} options={tabs} onChoose={setTab} />
        {tab === "health" && <HealthPart provider={provider} />}
        {tab === "models" && <RoutesPart name={name} routes={provider.routes} />}
        {tab === "keys" && <KeysPart provider={provider} onRemove={ask} />}
        {tab === "settings" && <SettingsPart provider={provider} onRemove={() => ask("remove")} />}
      </div>
      {question === "remove" && (
        <ConfirmRemove name={name} onClose={() => ask(undefined)} onRemoved={() => navigate(listPath)} />
      )}
      {question === "disable" && <ConfirmDisable name={name} onClose={() => ask(undefined)} />}
      {typeof question === "object" && (
        <ConfirmRemoveKey name={name} keyId={question.id ?? ""} last4={question.last4} onClose={() => ask(undefined)} />
      )}
    </>
  );
}

function State({ health, status }: Pick<Provider, "health" | "status">) {
  if (health.state === null) return <ProviderStatus status={status} />;
  return <HealthState state={health.state} pause={toPause(health)} />;
}

function HealthPart({ provider: { name, health, status, routes, keys } }: { provider: Provider }) {
  const nameOf = useModelNames();
  const mayChange = useMayAdminister();
  const namesOf = (circuit: string) =>
    routes
      .filter(({ state }) => state === circuit)
      .map(({ model }) => nameOf(model))
      .join(", ");
  const isPaused = [...routes, ...keys].some(({ state }) => state === "open" || state === "half_open");
  return (
    <>
      <Section title="Health" actions={mayChange && isPaused && <ResumeButton name={name} />}>
        <dl className="facts card-body">
          <Fact name="State">
            <State health={health} status={status} />
          </Fact>
          <HealthFacts health={health} />
          <Fact name="Paused" className="break">
            {namesOf("open")}
          </Fact>
          <Fact name="Wait for the next call" className="break">
            {namesOf("half_open")}
          </Fact>
          <Fact name="24 hours">
            <Strip strip={health.strip} />
          </Fact>
        </dl>
      </Section>
      <IncidentPart name={name} />
    </>
  );
}

function EnableButton({ provider: { name, enabled }, onDisable }: { provider: Provider; onDisable: () => void }) {
  const enable = useAction(async () => {
    await request(providerOf(name).post({ enabled: true }));
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

function SettingsPart({ provider, onRemove }: { provider: Provider; onRemove: () => void }) {
  const { origin, base_url, base_url_source, version, loaded_at, managed } = provider;
  return (
    <>
      <Section title="Order">
        <OrderForm provider={provider} />
      </Section>
      <MarkupSection
        provider={provider.name}
        hint="Percent above this provider’s prices, also of models that come out later. Empty: the markup of the gateway"
      />
      <Section
        title="Provider"
        actions={
          managed && (
            <Button look="small" onClick={onRemove}>
              Remove
            </Button>
          )
        }
      >
        <dl className="facts card-body">
          <Fact name="Comes from">{origin}</Fact>
          <Fact name="Base URL" className="break">
            {base_url ?? "–"}
            {base_url_source === "environment" && ", from the environment"}
          </Fact>
          <Fact name="Version" className="mono">
            {version}
          </Fact>
          <Fact name="Loaded">{loaded_at && formatAge(fromSeconds(loaded_at))}</Fact>
        </dl>
      </Section>
    </>
  );
}

/** Edits the priority and weight that order the routes of several providers to one model. */
function OrderForm({ provider: { name, priority, weight } }: { provider: Provider }) {
  const form = useForm(toFigureTexts({ priority, weight }), async (texts) => {
    await request(providerOf(name).post(readFigures(texts)));
    await refreshProviders();
    toast(`The order of ${name} is changed`);
  });
  const isValid = [form.values.priority, form.values.weight].every((text) => /^\d{0,4}$/.test(text.trim()));
  return (
    <div className="card-body">
      <Form form={form} className="stack stack-tight">
        <div className="grid-two">
          <FigureField
            label="Priority"
            placeholder="by model"
            {...form.field("priority")}
            hint="The lowest is called first"
          />
          <FigureField
            label="Weight"
            placeholder="by model"
            {...form.field("weight")}
            hint="Load-balancing weight; 0: only if others fail"
          />
        </div>
        <div className="row">
          <Submit form={form} label="Set order" look="" isComplete={isValid} />
        </div>
      </Form>
    </div>
  );
}
