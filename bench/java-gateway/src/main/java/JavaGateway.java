import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.nio.file.Path;

import com.sun.net.httpserver.HttpServer;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.epoll.EpollEventLoopGroup;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;

/**
 * {@code JavaGateway jdk|netty jackson|tuned COPYBOOK RECORD}: GET /car100/models over the HTTP server of the JDK or over Netty with epoll.
 *
 * One thread answers, since it is measured on one core. Prints its address as its one line of output.
 */
public final class JavaGateway {
  private static final String PATH = "/car100/models";

  public static void main(String[] arguments) throws Exception {
    Path copybook = Path.of(arguments[2]);
    Path record = Path.of(arguments[3]);
    CarInquiry<?> inquiry = arguments[1].equals("tuned") ? new TunedInquiry(copybook, record) : new JacksonInquiry(copybook, record);
    InetSocketAddress any = new InetSocketAddress("127.0.0.1", 0);
    InetSocketAddress address = arguments[0].equals("jdk") ? jdk(inquiry, any) : netty(inquiry, any);
    System.out.println("127.0.0.1:" + address.getPort());
  }

  /** Handlers run in the server's own thread, which is the cheapest on one core. */
  private static InetSocketAddress jdk(CarInquiry<?> inquiry, InetSocketAddress address) throws Exception {
    // Its defaults wait for acknowledgements and keep 200 connections.
    System.setProperty("sun.net.httpserver.nodelay", "true");
    System.setProperty("sun.net.httpserver.maxIdleConnections", "1000");
    HttpServer server = HttpServer.create(address, 1024);
    server.createContext(PATH, exchange -> {
      try (exchange) {
        CarInquiry.Json json = inquiry.answer(exchange.getRequestURI().getQuery());
        exchange.getResponseHeaders().set("content-type", "application/json");
        exchange.sendResponseHeaders(200, json.length());
        OutputStream body = exchange.getResponseBody();
        body.write(json.bytes(), 0, json.length());
      } catch (IllegalArgumentException wrong) {
        exchange.sendResponseHeaders(400, -1);
      } catch (Exception ours) {
        exchange.sendResponseHeaders(500, -1);
      }
    });
    server.start();
    return server.getAddress();
  }

  private static InetSocketAddress netty(CarInquiry<?> inquiry, InetSocketAddress address) throws Exception {
    EpollEventLoopGroup group = new EpollEventLoopGroup(1);
    ServerBootstrap server = new ServerBootstrap().group(group).channel(EpollServerSocketChannel.class)
        .option(ChannelOption.SO_BACKLOG, 1024).childOption(ChannelOption.TCP_NODELAY, true)
        .childHandler(new ChannelInitializer<Channel>() {
          @Override
          protected void initChannel(Channel channel) {
            channel.pipeline().addLast(new HttpServerCodec(), new Handler(inquiry));
          }
        });
    return (InetSocketAddress) server.bind(address).sync().channel().localAddress();
  }

  private static final class Handler extends SimpleChannelInboundHandler<Object> {
    private final CarInquiry<?> inquiry;

    Handler(CarInquiry<?> inquiry) {
      this.inquiry = inquiry;
    }

    @Override
    protected void channelRead0(ChannelHandlerContext context, Object message) {
      if (message instanceof HttpRequest request) {
        String uri = request.uri();
        int question = uri.indexOf('?');
        String path = question < 0 ? uri : uri.substring(0, question);
        HttpResponseStatus status = HttpResponseStatus.OK;
        ByteBuf body = context.alloc().buffer(0);
        if (path.equals(PATH)) {
          try {
            CarInquiry.Json json = inquiry.answer(question < 0 ? null : uri.substring(question + 1));
            body.writeBytes(json.bytes(), 0, json.length());
          } catch (IllegalArgumentException wrong) {
            status = HttpResponseStatus.BAD_REQUEST;
          } catch (Exception ours) {
            status = HttpResponseStatus.INTERNAL_SERVER_ERROR;
          }
        } else {
          status = HttpResponseStatus.NOT_FOUND;
        }
        DefaultFullHttpResponse response = new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, status, body);
        response.headers().set(HttpHeaderNames.CONTENT_TYPE, "application/json");
        response.headers().setInt(HttpHeaderNames.CONTENT_LENGTH, body.readableBytes());
        context.write(response, context.voidPromise());
      } else if (message instanceof LastHttpContent) {
        context.flush();
      }
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
      context.close();
    }
  }
}
