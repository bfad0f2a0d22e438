(* Theorem averaged momentum of models/mathematics.md (models/training/averaged_momentum.cpp, AveragedResponses of
   update_rule.hpp), over the integers: z descends, theta goes a part of the way to it. The factors are any real numbers
   within their ranges. At the end: this is the rule of momentum with weight decay, of exact numbers. *)
From Coq Require Import Reals Lra Lia ZArith List.
From Flocq Require Import Core.
From Holdfast Require Import core_and_radius.
Import ListNotations.
Open Scope Z_scope.

(* What is capped at M may be capped part by part (rule 7). *)
Lemma cap_add X Y M : 0 <= X -> 0 <= Y -> 0 <= M -> Z.min (X + Y) M <= Z.min X M + Z.min Y M.
Proof. lia. Qed.
Lemma cap_times (n : nat) X Y M : 0 <= X -> 0 <= Y -> 0 <= M -> Z.min (X + Z.of_nat n * Y) M <= Z.min X M + Z.of_nat n * Z.min Y M.
Proof.
  intros HX HY HM. destruct n as [|n]; [lia|]. rewrite Nat2Z.inj_succ, !Z.mul_succ_l.
  destruct (Z.min_spec Y M) as [(_ & ->)|(_ & ->)]; [|nia]. assert (0 <= Z.of_nat n * Y) by nia. lia.
Qed.
Lemma cap_step (n : nat) a c M : 0 <= a -> 0 <= c -> 0 <= M -> Z.min (a + Z.of_nat n * c) M <= a + Z.of_nat n * Z.min c M.
Proof. intros. pose proof (cap_times n a c M). lia. Qed.

Section Averaged.
Variables (Index : Type) (L : Z) (epoch : nat -> nat) (E : nat) (Gamma : Index -> Z).
Variables decay gradient own_decay own_gradient average : nat -> R.       (* AveragedFactors *)
Hypothesis HL : 0 <= L.
Hypothesis HE : forall t, (epoch t < E)%nat.
Hypothesis HG : forall p, 0 <= Gamma p.
Hypothesis Hd : forall t, (0 <= decay t <= 1)%R.
Hypothesis Hv : forall t, (0 <= gradient t)%R.
Hypothesis Ho : forall t, (0 <= own_decay t <= 1)%R.
Hypothesis Hw : forall t, (0 <= own_gradient t)%R.
Hypothesis Hm : forall t, (0 <= average t <= 1)%R.

Definition averaged t theta z := clamp L (f (average t) theta + g (average t) z).
Definition step (_ : Index) t (s : state) S : state :=
  let z := updated (decay t) (gradient t) L (snd s) S in (averaged t (updated (own_decay t) (own_gradient t) L (fst s) S) z, z).
(* averaged_response *)
Definition part t (r : state) : Z := h (average t) (fst r) + Zceil (average t * IZR (snd r)).
Definition before t (r : state) b : state :=
  (Z.min (h (own_decay t) (fst r) + Zceil (own_gradient t * IZR b)) (2 * L), Z.min (h (decay t) (snd r) + Zceil (gradient t * IZR b)) (2 * L)).
Definition step_left (_ : Index) t (r : state) b : state := (part t (before t r b), snd (before t r b)).
(* AveragedResponses::advance *)
Definition decays t (r : state) : state := (h (own_decay t) (fst r), h (decay t) (snd r)).
Definition decayed t (r : state) : state := (Z.min (part t (decays t r)) (2 * L), snd (decays t r)).
Definition capped_impulse (G : Z) t : state := (Z.min (Zceil (own_gradient t * IZR G)) (2 * L), Z.min (Zceil (gradient t * IZR G)) (2 * L)).
Definition impulse (G : Z) t : state := (Z.min (part t (capped_impulse G t)) (2 * L), snd (capped_impulse G t)).
Definition radius (p : Index) t : Z := radius_of_steps epoch E (2 * L) decayed (impulse (Gamma p)) t.

Lemma m_pos t : (0 <= average t)%R.
Proof. apply Hm. Qed.
Lemma part_mono t r s : le r s -> part t r <= part t s.
Proof. intros (A & B). unfold part. pose proof (h_mono _ (Hm t) _ _ A). pose proof (ceil_mono _ (m_pos t) _ _ B). lia. Qed.
Lemma part_add t r s : part t (add r s) <= part t r + part t s.
Proof. unfold part, add. cbn [fst snd]. pose proof (h_sub (average t) (fst r) (fst s)). pose proof (ceil_sub (average t) (snd r) (snd s)). lia. Qed.
Lemma part_pos t r : le zero r -> 0 <= part t r.
Proof. intros (A & B). unfold part. pose proof (h_pos _ (Hm t) _ A). pose proof (ceil_pos _ (m_pos t) _ B). lia. Qed.
Lemma part_times t (n : nat) r : part t (times n r) <= Z.of_nat n * part t r.
Proof.
  induction n as [|n IH].
  - unfold part, times. cbn [fst snd]. change (Z.of_nat 0) with 0. rewrite !Z.mul_0_l, h_zero, Rmult_0_r, Zceil_IZR. lia.
  - assert (T : times (S n) r = add (times n r) r) by (unfold times, add; cbn [fst snd]; f_equal; lia).
    rewrite T. pose proof (part_add t (times n r) r). lia.
Qed.
Lemma decays_pos t r : le zero r -> le zero (decays t r).
Proof. intros (A & B). split; [apply (h_pos _ (Ho t) _ A)|apply (h_pos _ (Hd t) _ B)]. Qed.
Lemma impulse_pos p t : le zero (capped_impulse (Gamma p) t).
Proof.
  pose proof (ceil_pos _ (Hw t) _ (HG p)). pose proof (ceil_pos _ (Hv t) _ (HG p)). unfold capped_impulse. split; cbn [fst snd zero]; apply Z.min_glb; lia.
Qed.

Theorem averaged_momentum : optimiser Index L epoch Gamma radius step step_left.
Proof.
  assert (A_zero : forall t, decayed t zero = zero).
  { intros t. unfold decayed, decays, part, zero. cbn [fst snd]. rewrite !h_zero, Rmult_0_r, Zceil_IZR. rewrite Z.min_l by lia. reflexivity. }
  assert (A_mono : forall t r s, le r s -> le (decayed t r) (decayed t s)).
  { intros t r s (A & B). pose proof (h_mono _ (Ho t) _ _ A). pose proof (h_mono _ (Hd t) _ _ B).
    pose proof (part_mono t (decays t r) (decays t s) ltac:(split; assumption)). unfold decayed. split; cbn [fst snd]; [lia|assumption]. }
  assert (A_add : forall t r s, le zero r -> le zero s -> le (decayed t (add r s)) (add (decayed t r) (decayed t s))).
  { intros t r s Pr Ps. assert (D : le (decays t (add r s)) (add (decays t r) (decays t s))).
    { pose proof (h_sub (own_decay t) (fst r) (fst s)). pose proof (h_sub (decay t) (snd r) (snd s)). split; assumption. }
    pose proof (part_mono t _ _ D). pose proof (part_add t (decays t r) (decays t s)).
    pose proof (part_pos t _ (decays_pos t r Pr)) as P1. pose proof (part_pos t _ (decays_pos t s Ps)) as P2.
    split; [change (Z.min (part t (decays t (add r s))) (2 * L) <= Z.min (part t (decays t r)) (2 * L) + Z.min (part t (decays t s)) (2 * L))|apply D].
    pose proof (cap_add (part t (decays t r)) (part t (decays t s)) (2 * L) P1 P2 ltac:(lia)). lia. }
  assert (I_pos : forall p t, le zero (impulse (Gamma p) t)).
  { intros p t. pose proof (part_pos t _ (impulse_pos p t)). destruct (impulse_pos p t). unfold impulse. split; cbn [fst snd zero] in *; [apply Z.min_glb; lia|assumption]. }
  unfold optimiser. repeat match goal with |- _ /\ _ => split end.
  - intros p t s s' S S' (A & B) HS. unfold step. cbv zeta.
    pose proof (updated_mono _ _ (Hd t) (Hv t) L _ _ S S' HL B HS) as Z. pose proof (updated_mono _ _ (Ho t) (Hw t) L _ _ S S' HL A HS) as T.
    split; cbn [fst snd]; [|exact Z]. unfold averaged.
    destruct (update_rule _ _ (Hm t) (m_pos t)) as (M & _). destruct (M _ _ T) as (M1 & _). destruct (M _ _ Z) as (_ & M2 & _).
    eapply Z.sub_nonneg, (clamp_step L _ _ HL). apply Z.add_le_mono; assumption.
  - intros p t s S. unfold step, averaged, updated. cbv zeta. split; split; cbn [fst snd both]; apply clamp_range; exact HL.
  - intros p t s s' S S' b HS. unfold step, step_left. cbv zeta.
    set (z := updated _ _ L (snd s) S). set (z' := updated _ _ L (snd s') S'). set (y := updated _ _ L (fst s) S). set (y' := updated _ _ L (fst s') S').
    assert (B : le (Z.abs (y' - y), Z.abs (z' - z)) (before t (apart s' s) b)).
    { pose proof (updated_apart _ _ (Hd t) (Hv t) L (snd s) (snd s') S S' b HL HS). pose proof (updated_apart _ _ (Ho t) (Hw t) L (fst s) (fst s') S S' b HL HS).
      assert (R : forall d v x S, - L <= updated d v L x S <= L) by (intros; apply clamp_range; exact HL).
      pose proof (R (decay t) (gradient t) (snd s) S). pose proof (R (decay t) (gradient t) (snd s') S').
      pose proof (R (own_decay t) (own_gradient t) (fst s) S). pose proof (R (own_decay t) (own_gradient t) (fst s') S').
      unfold before. split; cbn [fst snd apart]; apply Z.min_glb; try assumption; unfold y, y', z, z'; lia. }
    pose proof (part_mono t _ _ B) as P. destruct B as (_ & B2). split; cbn [fst snd apart]; [|exact B2].
    unfold averaged. pose proof (clamp_apart L (f (average t) y + g (average t) z) (f (average t) y' + g (average t) z') HL).
    pose proof (f_apart _ (Hm t) y y'). pose proof (g_apart _ (m_pos t) z z' _ (Z.le_refl _)). unfold part in P at 1. cbn [fst snd] in P. lia.
  - intros p t r b (A & B) Hb. pose proof (h_pos _ (Ho t) _ A). pose proof (h_pos _ (Hd t) _ B). pose proof (ceil_pos _ (Hw t) _ Hb). pose proof (ceil_pos _ (Hv t) _ Hb).
    assert (P : le zero (before t r b)) by (unfold before; split; cbn [fst snd zero]; apply Z.min_glb; lia).
    split; [apply (part_pos t _ P)|apply P].
  - intros p rs x O X0 XL XS. unfold radius. apply responses_bound; auto; [intros t; apply XL|].
    intros t. destruct (XS t) as (X1 & X2). destruct (XL (S t)) as (_ & (X3 & _)). destruct (XL t) as (X4 & _).
    set (n := acting rs t) in *. set (G := Gamma p) in *. pose proof (HG p) as PG. fold G in PG.
    pose proof (decays_pos t _ X4) as (D1 & D2).
    assert (B : le (before t (x t) (Z.of_nat n * G)) (add (decays t (x t)) (times n (capped_impulse G t)))).
    { pose proof (ceil_times (own_gradient t) n G). pose proof (ceil_times (gradient t) n G).
      pose proof (cap_step n (fst (decays t (x t))) (Zceil (own_gradient t * IZR G)) (2 * L) D1 (ceil_pos _ (Hw t) _ PG) ltac:(lia)).
      pose proof (cap_step n (snd (decays t (x t))) (Zceil (gradient t * IZR G)) (2 * L) D2 (ceil_pos _ (Hv t) _ PG) ltac:(lia)).
      unfold before, decays, capped_impulse, add, times in *. split; cbn [fst snd] in *; lia. }
    pose proof (part_mono t _ _ B). pose proof (part_add t (decays t (x t)) (times n (capped_impulse G t))). pose proof (part_times t n (capped_impulse G t)).
    pose proof (cap_times n (part t (decays t (x t))) (part t (capped_impulse G t)) (2 * L) (part_pos t _ (decays_pos t _ X4)) (part_pos t _ (impulse_pos p t)) ltac:(lia)).
    destruct B as (_ & B2). unfold step_left in X1, X2. cbn [fst snd both] in *.
    split; unfold add, times, decayed, impulse; cbn [fst snd]; [lia|]. unfold add, times in B2. cbn [fst snd] in B2. lia.
  - intros p t. unfold radius, radius_of_steps. apply Z.min_glb; [|lia]. apply (upto_pos (fun e => greatest epoch decayed (impulse (Gamma p)) e t) E).
    intros e. induction t; simpl; [apply le_refl|]. specialize (A_mono t _ _ IHt). rewrite A_zero in A_mono. destruct A_mono. unfold pmax. split; cbn [fst snd zero] in *; lia.
Qed.
End Averaged.

(* ---- An example, and a wrong statement refuted ---- *)
Definition half (_ : nat) : R := (/ 2)%R.
Example averaged_momentum_example : optimiser unit 100 first_steps (fun _ => 1) (radius unit 100 first_steps 2 (fun _ => 1) tenth half tenth tenth half) (step unit 100 tenth half tenth tenth half)
  (step_left unit 100 tenth half tenth tenth half).
Proof. apply averaged_momentum; unfold first_steps, tenth, half; intros; try lia; lra. Qed.
(* A part of more than the whole way: theta no longer rises with theta. *)
Fact averaged_momentum_mutant : let two (_ : nat) := 2%R in let none (_ : nat) := 0%R in
  ~ keeps_order unit (step unit 100 none none none none two).
Proof.
  intros two none H. specialize (H tt O (0, 0) (1, 0) 0 0 ltac:(split; simpl; lia) ltac:(lia)). revert H.
  unfold step, averaged, updated, f, g, nearest, two, none. cbn [fst snd]. rewrite !(Zfloor_imp 0 (0 * _ + / 2)) by (simpl; lra).
  change (clamp 100 (0 - 0 - 0)) with 0. change (clamp 100 (1 - 0 - 0)) with 1.
  rewrite (Zfloor_imp 2 (2 * 1 + / 2)), !(Zfloor_imp 0 (2 * 0 + / 2)) by (simpl; lra). intros (H & _). cbn in H. lia.
Qed.

Open Scope R_scope.
(* ---- That this is momentum with weight decay: exact numbers, one step. i' is the i of the step after (0 of the last). ---- *)
Definition velocity (mu delta lambda w theta g : R) := mu * w - delta * (g + lambda * theta).
Definition moved (mu delta lambda alpha beta gamma w theta g : R) := theta + alpha * (beta * velocity mu delta lambda w theta g - gamma * (g + lambda * theta)).
Theorem averages_are_momentum : forall mu delta lambda alpha beta gamma i' w theta g, let s := alpha * beta + i' in let eta := alpha * gamma + delta * s in
  let m := alpha * beta / s in let i := mu * s / (1 - lambda * eta) in let z := theta + i * w in
  let w' := velocity mu delta lambda w theta g in let theta' := moved mu delta lambda alpha beta gamma w theta g in let z' := theta' + i' * w' in
  s <> 0 -> 1 - lambda * eta <> 0 ->
  z' = z - eta * (g + lambda * z) /\ theta' = (1 - m) * (theta - alpha * gamma * (g + lambda * theta)) + m * z'.
Proof.
  intros mu delta lambda alpha beta gamma i' w theta g s eta m i z w' theta' z' Hs He.
  unfold z', theta', w', z, i, m, moved, velocity. split.
  - unfold eta in *. field_simplify_eq; [unfold s; ring|exact He].
  - field_simplify_eq; [unfold s; ring|exact Hs].
Qed.
(* momentum 1/2 without dampening: the last step of two, lambda 1/4 *)
Example averages_are_momentum_example : let z := 1 + (1 / 2 * 1 / (1 - 1 / 4 * 1)) * 3 in
  moved (1 / 2) 1 (1 / 4) 1 1 0 3 1 2 + 0 * velocity (1 / 2) 1 (1 / 4) 3 1 2 = z - 1 * (2 + 1 / 4 * z).
Proof.
  pose proof (averages_are_momentum (1 / 2) 1 (1 / 4) 1 1 0 0 3 1 2 ltac:(lra) ltac:(lra)) as (H & _).
  cbv zeta. replace (1 / 2 * 1 / (1 - 1 / 4 * 1)) with (1 / 2 * (1 * 1 + 0) / (1 - 1 / 4 * (1 * 0 + 1 * (1 * 1 + 0)))) by field. lra.
Qed.
(* i without its denominator. *)
Fact averages_are_momentum_mutant : let z := 1 + (1 / 2 * 1) * 3 in
  moved (1 / 2) 1 (1 / 4) 1 1 0 3 1 2 + 0 * velocity (1 / 2) 1 (1 / 4) 3 1 2 <> z - 1 * (2 + 1 / 4 * z).
Proof. unfold moved, velocity. cbv zeta. lra. Qed.
