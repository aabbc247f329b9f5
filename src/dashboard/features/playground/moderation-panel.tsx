import { useState } from "react";
import { TextAreaField } from "../../kit/field.tsx";
import { CallCard, ModelField, Panel, type PanelProps, toCurl } from "./panel.tsx";
import { callApiWithJson } from "./playground-key.ts";
import { type Score, ScoreList } from "./score-list.tsx";

interface Verdict {
  readonly flagged: boolean;
  readonly categories: Readonly<Record<string, boolean>>;
  readonly category_scores: Readonly<Record<string, number>>;
}

const example = "Is this a friendly text?";

export function ModerationPanel(props: PanelProps) {
  const [text, setText] = useState("");
  const [verdict, setVerdict] = useState<Verdict>();
  const body = { model: props.model.id, input: text.trim() === "" ? example : text };
  const call = async () => {
    const response = await callApiWithJson("/moderations", body);
    const { results } = (await response.json()) as { results: readonly Verdict[] };
    setVerdict(results[0]);
  };
  return (
    <Panel curl={(baseUrl) => toCurl(`${baseUrl}/moderations`, body)} settings={<ModelField {...props} />}>
      <CallCard
        label="Moderation"
        icon="admin"
        action={["Check text", "Checking…", "No result yet"]}
        isComplete={text.trim() !== ""}
        call={call}
        fields={<TextAreaField label="Text" rows={4} placeholder={example} value={text} onText={setText} />}
      >
        {verdict && (
          <div className="stack" aria-live="polite">
            <p>
              <span className={`badge ${verdict.flagged ? "is-bad" : "is-good"}`}>
                {verdict.flagged ? "Flagged" : "Not flagged"}
              </span>
            </p>
            <ScoreList label="Categories" scores={toScores(verdict)} />
          </div>
        )}
      </CallCard>
    </Panel>
  );
}

/** Flagged categories first, then by score. */
function toScores({ categories, category_scores }: Verdict): Score[] {
  return Object.entries(category_scores)
    .toSorted(
      ([one, scoreOfOne], [other, scoreOfOther]) =>
        Number(categories[other] === true) - Number(categories[one] === true) || scoreOfOther - scoreOfOne,
    )
    .map(([name, score]) => ({
      key: name,
      name,
      score,
      ...(categories[name] === true && { mark: { text: "flagged", tone: "bad" as const } }),
    }));
}
