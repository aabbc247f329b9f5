import { request } from "../../data/api.ts";
import { Button } from "../../kit/button.tsx";
import { Callout } from "../../kit/feedback.tsx";
import { toast } from "../../kit/toast.tsx";
import { useAction } from "../../kit/use-action.ts";
import { useModelNames } from "../models/api.ts";
import { providerOf, refreshProviders } from "./api.ts";

/** Ends the pauses of a provider after failures, or the pause of one model. */
export function ResumeButton({ name, model }: { name: string; model?: string }) {
  const nameOf = useModelNames();
  const subject = model === undefined ? name : nameOf(model);
  const resume = useAction(async () => {
    await request(providerOf(name).resume.post(model === undefined ? {} : { model }));
    await refreshProviders();
    toast(`${subject} is in use again`);
  });
  return (
    <>
      <Callout tone="bad">{resume.formError()}</Callout>
      <Button
        look="small"
        aria-label={`Resume now: ${subject}`}
        disabled={resume.isBusy}
        onClick={() => void resume.run()}
      >
        Resume now
      </Button>
    </>
  );
}
