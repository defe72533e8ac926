// A server of grpc-go that answers every call with the same ExecuteResponse: what the transport alone costs.
package main

import (
	"fmt"
	"net"
	"os"

	"google.golang.org/grpc"
)

type message struct{ bytes []byte }

// Bytes as they are: nothing is encoded.
type codec struct{}

func (codec) Name() string                       { return "proto" }
func (codec) Marshal(m any) ([]byte, error)      { return m.(*message).bytes, nil }
func (codec) Unmarshal(data []byte, m any) error { m.(*message).bytes = data; return nil }

// success: true, output: "1\n"
var answer = &message{[]byte("\x08\x01\x12\x021\n")}

func echo(_ any, stream grpc.ServerStream) error {
	var request message
	if err := stream.RecvMsg(&request); err != nil {
		return err
	}
	return stream.SendMsg(answer)
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("listening", listener.Addr())
	server := grpc.NewServer(grpc.ForceServerCodec(codec{}), grpc.UnknownServiceHandler(echo))
	if err := server.Serve(listener); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
