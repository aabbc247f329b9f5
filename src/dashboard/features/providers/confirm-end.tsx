import { request } from "../../data/api.ts";
import { formatCount } from "../../format.ts";
import { Confirm } from "../../kit/confirm.tsx";
import { toast } from "../../kit/toast.tsx";
import { type Incident, useIncident } from "../incidents/api.ts";
import { providerOf, refreshProviders } from "./api.ts";

interface EndProps {
  name: string;
  onClose: () => void;
}

/** Each asks before callers may lose models. */
export function ConfirmDisable({ name, onClose }: EndProps) {
  const { data: incident } = useIncident(name);
  const act = async () => {
    await request(providerOf(name).post({ enabled: false }));
    await refreshProviders();
    toast(`${name} is disabled`);
  };
  return (
    <Confirm title={`Disable ${name}?`} action="Disable provider" act={act} onClose={onClose}>
      {incident === undefined ? (
        "Models that no other provider serves can no longer be called."
      ) : (
        <Consequence incident={incident} />
      )}{" "}
      Running calls end normally.
    </Confirm>
  );
}

const namedMax = 8;

/** The loss of callers: how many calls there were, and the models that have no other route. */
function Consequence({ incident: { calls_of_last_hour: calls, models } }: { incident: Incident }) {
  const alone = models.filter(({ other_providers: others }) => others.length === 0).map(({ name }) => name);
  const rest = alone.length - namedMax;
  return (
    <>
      It served {formatCount(calls)} requests in the last hour.{" "}
      {alone.length === 0
        ? "Other providers serve all its models."
        : `These models have no other route and can no longer be called: ${alone.slice(0, namedMax).join(", ")}${rest > 0 ? ` and ${rest} more` : ""}.`}
    </>
  );
}

export function ConfirmRemove({ name, onClose, onRemoved }: EndProps & { onRemoved: () => void }) {
  const act = async () => {
    await request(providerOf(name).delete());
    await refreshProviders();
    toast(`${name} is removed`);
    onRemoved();
  };
  return (
    <Confirm title={`Remove ${name}?`} action="Remove provider" act={act} onClose={onClose}>
      Its keys are deleted. Models that no other provider serves can no longer be called. Running calls end normally.
    </Confirm>
  );
}

export function ConfirmRemoveKey({ name, keyId, last4, onClose }: EndProps & { keyId: string; last4: string }) {
  const act = async () => {
    await request(providerOf(name).keys({ provider_key_id: keyId }).delete());
    await refreshProviders();
    toast(`The key …${last4} is removed`);
  };
  return (
    <Confirm title={`Remove the key …${last4}?`} action="Remove key" act={act} onClose={onClose}>
      {name} is called with its other keys. Without any, its models can no longer be called.
    </Confirm>
  );
}
