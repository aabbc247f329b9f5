// What sashabaranov/go-openai makes of the gateway: prints one JSON object of findings.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"clients/found"

	openai "github.com/sashabaranov/go-openai"
)

const model = "famA-4o-mini"

var ctx = context.Background()

func ask(content string) openai.ChatCompletionRequest {
	messages := []openai.ChatCompletionMessage{{Role: openai.ChatMessageRoleUser, Content: content}}
	return openai.ChatCompletionRequest{Model: model, Messages: messages}
}

func main() {
	config := openai.DefaultConfig(os.Args[2])
	config.BaseURL = os.Args[1]
	client := openai.NewClientWithConfig(config)
	rows := found.Rows{}

	rows.Try("chat", func() (any, error) {
		answer, err := client.CreateChatCompletion(ctx, ask("Say hello to Ada"))
		return err == nil && strings.Contains(answer.Choices[0].Message.Content, "Ada") && answer.Usage.TotalTokens > 0, err
	})
	rows.Try("stream", func() (any, error) {
		text, err := read(client, ask("Say hello to Ada"))
		return strings.Contains(text, "Ada"), err
	})
	rows.Try("tools", func() (any, error) { return useTool(client) })
	rows.Try("embeddings", func() (any, error) {
		request := openai.EmbeddingRequest{Model: "text-embedding-3-small", Input: []string{"one", "two"}}
		answer, err := client.CreateEmbeddings(ctx, request)
		return []int{len(answer.Data), len(answer.Data[0].Embedding)}, err
	})
	rows.Try("tokens", func() (any, error) {
		request := openai.EmbeddingRequestTokens{Model: "text-embedding-3-small", Input: [][]int{{9906, 1917}}}
		answer, err := client.CreateEmbeddings(ctx, request)
		return answer.Usage.PromptTokens, err
	})
	rows.Try("image", func() (any, error) {
		request := openai.ImageRequest{Model: "famB-3-pro-image-preview", Prompt: "A kite", ResponseFormat: "b64_json"}
		answer, err := client.CreateImage(ctx, request)
		return err == nil && strings.HasPrefix(answer.Data[0].B64JSON, "iVBOR"), err
	})
	rows.Try("transcription", func() (any, error) {
		request := openai.AudioRequest{Model: "famW-large-v3", FilePath: os.Args[3]}
		answer, err := client.CreateTranscription(ctx, request)
		return answer.Text != "", err
	})
	rows.Try("speech", func() (any, error) {
		request := openai.CreateSpeechRequest{Model: "famT/v1-english", Input: "Hello", Voice: openai.VoiceAlloy}
		answer, err := client.CreateSpeech(ctx, request)
		if err != nil {
			return nil, err
		}
		head := make([]byte, 4)
		_, err = io.ReadFull(answer, head)
		return string(head), err
	})
	rows.Try("models", func() (any, error) {
		list, err := client.ListModels(ctx)
		one, oneErr := client.GetModel(ctx, "famA/oss-20b")
		return []any{len(list.Models) > 50, one.ID}, errors.Join(err, oneErr)
	})
	rows.Try("errors", func() (any, error) {
		stranger := openai.DefaultConfig("sk-wrong")
		stranger.BaseURL = os.Args[1]
		_, wrongKey := openai.NewClientWithConfig(stranger).ListModels(ctx)
		_, slowDown := client.CreateChatCompletion(ctx, ask("[[fault:status=429]]"))
		_, broken := read(client, ask("one two three four [[fault:error=3]]"))
		return []any{status(wrongKey), status(slowDown), broken != nil}, nil
	})
	rows.Print()
}

func status(err error) int {
	var failure *openai.APIError
	if errors.As(err, &failure) {
		return failure.HTTPStatusCode
	}
	return 0
}

func read(client *openai.Client, request openai.ChatCompletionRequest) (string, error) {
	stream, err := client.CreateChatCompletionStream(ctx, request)
	if err != nil {
		return "", err
	}
	defer stream.Close()
	text := ""
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return text, nil
		}
		if err != nil {
			return text, err
		}
		for _, choice := range chunk.Choices {
			text += choice.Delta.Content
		}
	}
}

func useTool(client *openai.Client) (any, error) {
	parameters := map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"type": "number"}}}
	function := &openai.FunctionDefinition{Name: "add_numbers", Parameters: parameters}
	request := ask("Use add_numbers for 5 and 7")
	request.Tools = []openai.Tool{{Type: openai.ToolTypeFunction, Function: function}}
	first, err := client.CreateChatCompletion(ctx, request)
	if err != nil {
		return nil, err
	}
	message := first.Choices[0].Message
	call := message.ToolCalls[0]
	result := openai.ChatCompletionMessage{Role: openai.ChatMessageRoleTool, ToolCallID: call.ID, Content: "twelve"}
	request.Messages = append(request.Messages, message, result)
	second, err := client.CreateChatCompletion(ctx, request)
	if err != nil {
		return nil, err
	}
	return []any{call.Function.Name, strings.Contains(second.Choices[0].Message.Content, "twelve")}, nil
}
