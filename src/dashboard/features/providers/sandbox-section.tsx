import { organization, request } from "../../data/api.ts";
import { Section } from "../../kit/page.tsx";
import { Segmented } from "../../kit/segmented.tsx";
import { toast, toastError } from "../../kit/toast.tsx";
import { type ProviderList, refreshProviders } from "./api.ts";

const options = [
  ["auto", "Until a provider is added"],
  ["on", "On"],
  ["off", "Off"],
] as const;

/** Whether models without a real provider are simulated. */
export function SandboxSection({ sandbox: { setting, source, simulates } }: Pick<ProviderList, "sandbox">) {
  const choose = async (chosen: typeof setting) => {
    try {
      await request(organization.sandbox.post({ setting: chosen }));
      await refreshProviders();
      toast("The sandbox setting is changed");
    } catch (error) {
      toastError(error);
    }
  };
  return (
    <Section title="Sandbox">
      <div className="card-body stack stack-tight">
        <p className="soft">
          {simulates
            ? "Models without a real provider are simulated: answers are made up, and no provider is called."
            : "No model is simulated: only models of real providers are served."}
        </p>
        {source === "environment" ? (
          <p className="soft">The environment sets SANDBOX={setting}, so it cannot be changed here.</p>
        ) : (
          <div className="row">
            <Segmented label="Sandbox" value={setting} options={options} onChoose={(chosen) => void choose(chosen)} />
          </div>
        )}
      </div>
    </Section>
  );
}
