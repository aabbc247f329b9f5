import { useState } from "react";
import { formatCount } from "../../format.ts";
import { TextAreaField, TextField } from "../../kit/field.tsx";
import { CallCard, ModelField, Panel, type PanelProps, toCurl, toLines } from "./panel.tsx";
import { callApiWithJson } from "./playground-key.ts";
import { ScoreList } from "./score-list.tsx";

interface Ranking {
  /** Documents of the request. */
  readonly documents: readonly string[];
  readonly results: readonly { readonly index: number; readonly relevance_score: number }[];
}

const example = { query: "What colour is the sky?", documents: ["Grass is green", "The sky is blue"] };

export function RerankPanel(props: PanelProps) {
  const [query, setQuery] = useState("");
  const [text, setText] = useState("");
  const [count, setCount] = useState("");
  const [ranking, setRanking] = useState<Ranking>();
  const documents = toLines(text);
  const isWholeNumber = /^[1-9]\d*$/.test(count);
  const body = {
    model: props.model.id,
    query: query.trim() === "" ? example.query : query,
    documents: documents.length === 0 ? example.documents : documents,
    ...(isWholeNumber && { top_n: Number(count) }),
  };
  const call = async () => {
    const response = await callApiWithJson("/rerank", body);
    const { results } = (await response.json()) as Pick<Ranking, "results">;
    setRanking({ documents, results });
  };
  return (
    <Panel
      curl={(baseUrl) => toCurl(`${baseUrl}/rerank`, body)}
      settings={
        <>
          <ModelField {...props} />
          <TextField
            label="Results"
            inputMode="numeric"
            placeholder="All"
            hint="Number of documents to return"
            error={count === "" || isWholeNumber ? undefined : "A whole number from 1"}
            value={count}
            onText={setCount}
          />
        </>
      }
    >
      <CallCard
        label="Rerank"
        icon="list"
        action={["Rank documents", "Ranking…", "No ranking yet"]}
        isComplete={query.trim() !== "" && documents.length > 0 && (count === "" || isWholeNumber)}
        call={call}
        fields={
          <>
            <TextField label="Query" placeholder={example.query} value={query} onText={setQuery} />
            <TextAreaField
              label="Documents"
              hint={`One per line; ${formatCount(documents.length)} so far`}
              rows={6}
              placeholder={example.documents.join("\n")}
              value={text}
              onText={setText}
            />
          </>
        }
      >
        {ranking && (
          <div aria-live="polite">
            <ScoreList
              label="Documents by relevance"
              isRanked
              scores={ranking.results
                .toSorted((one, other) => other.relevance_score - one.relevance_score)
                .map(({ index, relevance_score }) => ({
                  key: index,
                  name: ranking.documents[index] ?? "",
                  score: relevance_score,
                }))}
            />
          </div>
        )}
      </CallCard>
    </Panel>
  );
}
