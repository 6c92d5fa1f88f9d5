smt 1
# Philox 4x32-10: the same seed and the same sequence of calls give the same
# numbers on every device, fused or not.
seed 42
a = rand(dtype=f32, shape=[4])
b = rand(dtype=f64, shape=[2,2])
expect a f32[4] {0.4685865044593811, 0.32706332206726074, 0.6583154797554016, 0.6706398129463196}
expect b f64[2,2] {0.1262498542224193, 0.9914873587267705, 0.12281292844861458, 0.6805779186820962}
seed 42
c = rand(dtype=f64, shape=[4])
d = multiply(c, 2.0)
expect d f64[4] {0.9371730366782098, 0.6541267624067695, 1.3166310544246187, 1.3412797058604652}
seed 42
n = randn(dtype=f64, shape=[4])
expect n {-0.6076510539335191, -0.8536440633116089, 0.21637628796618585, -1.0808154976343705} ulp 8
# Elements are numbered by their position, whatever the shape.
seed 42
m = rand(dtype=f32, shape=[2,2])
expect m f32[2,2] {0.4685865044593811, 0.32706332206726074, 0.6583154797554016, 0.6706398129463196}
